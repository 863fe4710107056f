/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/decoder.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/array.h"
#include "slog/reader.h"

enum slot_state { SLOT_FREE, SLOT_TAKEN, SLOT_DONE };

/* A block with its records, on its way from a thread to the caller. */
struct slot {
    enum slot_state state;
    struct reader_block block;
    struct decoder_line *lines; /* owned */
    size_t count, capacity;
    int result; /* of reading and scanning: 1, 0 at the end, -1 with error */
    struct error error;
};

struct decoder {
    struct reader *reader;
    struct slot *slots; /* used in turn */
    size_t slot_count;
    size_t next_to_fill, next_to_give; /* counted on and on */

    unsigned jobs, started;
    pthread_t threads[DECODER_MOST_JOBS];
    pthread_mutex_t lock; /* of all that follows, next_to_fill and the slots' states */
    pthread_cond_t changed;
    bool reading; /* a thread has the reader */
    bool stop;    /* nothing more is to be read */
};

/* ---- scanning ----------------------------------------------------------- */

static struct decoder_line *add_line(struct slot *slot)
{
    struct decoder_line *lines =
        array_reserve(slot->lines, &slot->capacity, slot->count + 1, sizeof *lines);

    if (lines == NULL)
        return NULL;
    slot->lines = lines;
    return &lines[slot->count++];
}

static bool is_blank(struct scan_span text)
{
    return text.length == 0 || scan_is(text, "\r");
}

static int scan_block(struct slot *slot, struct error *error)
{
    struct scan_span text;
    size_t position = 0;

    slot->count = 0;
    while (reader_next_line(&slot->block, &position, &text)) {
        struct decoder_line *line = add_line(slot);

        if (line == NULL)
            return error_memory(error, "the lines of a slogfile");
        line->why = NULL;
        line->torn = slot->block.torn;
        line->blank = is_blank(text);
        if (slot->block.too_long)
            line->why = "longer than 32 MiB";
        else if (!line->blank)
            record_read(text.at, text.length, &line->record, &line->why);
    }
    return 1;
}

static void fill_slot(struct decoder *decoder, struct slot *slot, bool follow)
{
    slot->result = reader_next_block(decoder->reader, follow, &slot->block, &slot->error);
}

static void scan_slot(struct slot *slot)
{
    if (slot->result > 0)
        slot->result = scan_block(slot, &slot->error);
}

/* ---- threads ------------------------------------------------------------ */

/* Takes the next slot and the reader, waiting for both; NULL when all is read. */
static struct slot *take_slot(struct decoder *decoder)
{
    struct slot *slot = NULL;

    pthread_mutex_lock(&decoder->lock);
    for (;;) {
        struct slot *next = &decoder->slots[decoder->next_to_fill % decoder->slot_count];

        if (decoder->stop)
            break;
        if (!decoder->reading && next->state == SLOT_FREE) {
            slot = next;
            slot->state = SLOT_TAKEN;
            decoder->next_to_fill++;
            decoder->reading = true;
            break;
        }
        pthread_cond_wait(&decoder->changed, &decoder->lock);
    }
    pthread_mutex_unlock(&decoder->lock);
    return slot;
}

static void pass_reader_on(struct decoder *decoder, const struct slot *slot)
{
    pthread_mutex_lock(&decoder->lock);
    decoder->reading = false;
    decoder->stop |= slot->result <= 0;
    pthread_cond_broadcast(&decoder->changed);
    pthread_mutex_unlock(&decoder->lock);
}

static void set_state(struct decoder *decoder, struct slot *slot, enum slot_state state)
{
    pthread_mutex_lock(&decoder->lock);
    slot->state = state;
    pthread_cond_broadcast(&decoder->changed);
    pthread_mutex_unlock(&decoder->lock);
}

static void *work(void *context)
{
    struct decoder *decoder = context;
    struct slot *slot;

    while ((slot = take_slot(decoder)) != NULL) {
        fill_slot(decoder, slot, false);
        pass_reader_on(decoder, slot);
        scan_slot(slot);
        set_state(decoder, slot, SLOT_DONE);
    }
    return NULL;
}

static void wait_until_done(struct decoder *decoder, const struct slot *slot)
{
    pthread_mutex_lock(&decoder->lock);
    while (slot->state != SLOT_DONE)
        pthread_cond_wait(&decoder->changed, &decoder->lock);
    pthread_mutex_unlock(&decoder->lock);
}

static int start_threads(struct decoder *decoder, struct error *error)
{
    for (; decoder->started < decoder->jobs; decoder->started++) {
        int cause = pthread_create(&decoder->threads[decoder->started], NULL, work, decoder);

        if (cause != 0)
            return error_system(error, cause, "cannot start a thread");
    }
    return 0;
}

static void stop_threads(struct decoder *decoder)
{
    pthread_mutex_lock(&decoder->lock);
    decoder->stop = true;
    pthread_cond_broadcast(&decoder->changed);
    pthread_mutex_unlock(&decoder->lock);
    for (unsigned i = 0; i < decoder->started; i++)
        pthread_join(decoder->threads[i], NULL);
}

/* ---- opening, asking, closing ------------------------------------------- */

struct decoder *decoder_open(const char *path, unsigned jobs, struct error *error)
{
    struct decoder *decoder = calloc(1, sizeof *decoder);

    if (decoder == NULL) {
        error_memory(error, "reading a slogfile");
        return NULL;
    }
    pthread_mutex_init(&decoder->lock, NULL);
    pthread_cond_init(&decoder->changed, NULL);
    decoder->jobs = jobs;
    /* One for each thread, one that the caller has, one that waits for the caller. */
    decoder->slot_count = jobs > 1 ? jobs + 2 : 1;
    decoder->slots = calloc(decoder->slot_count, sizeof *decoder->slots);
    if (decoder->slots == NULL)
        error_memory(error, "reading a slogfile");
    else
        decoder->reader = reader_open(path, error);
    if (decoder->reader == NULL) {
        decoder_close(decoder);
        return NULL;
    }
    return decoder;
}

/* The slot that the caller had is free for the threads again. */
static void give_back(struct decoder *decoder)
{
    struct slot *slot;

    if (decoder->next_to_give == 0)
        return;
    slot = &decoder->slots[(decoder->next_to_give - 1) % decoder->slot_count];
    set_state(decoder, slot, SLOT_FREE);
}

static int next_by_threads(struct decoder *decoder, struct slot **slot, struct error *error)
{
    give_back(decoder);
    if (start_threads(decoder, error) != 0)
        return -1;
    *slot = &decoder->slots[decoder->next_to_give % decoder->slot_count];
    wait_until_done(decoder, *slot);
    return (*slot)->result;
}

int decoder_next(struct decoder *decoder, bool follow, struct decoder_batch *batch,
                 struct error *error)
{
    struct slot *slot = &decoder->slots[0];
    int result;

    if (decoder->jobs > 1) {
        result = next_by_threads(decoder, &slot, error);
    } else {
        fill_slot(decoder, slot, follow);
        scan_slot(slot);
        result = slot->result;
    }
    if (result < 0 && slot->result < 0)
        *error = slot->error;
    /* The end and a failure stay where they are, to be met again. */
    if (result <= 0)
        return result;
    decoder->next_to_give++;
    *batch = (struct decoder_batch){slot->lines, slot->count, slot->block.position};
    return 1;
}

bool decoder_is_cut(const struct decoder *decoder)
{
    return reader_is_cut(decoder->reader);
}

bool decoder_can_grow(const struct decoder *decoder)
{
    return reader_can_grow(decoder->reader);
}

uint64_t decoder_size(const struct decoder *decoder)
{
    return reader_size(decoder->reader);
}

void decoder_close(struct decoder *decoder)
{
    if (decoder == NULL)
        return;
    stop_threads(decoder);
    for (size_t i = 0; decoder->slots != NULL && i < decoder->slot_count; i++) {
        reader_free_block(&decoder->slots[i].block);
        free(decoder->slots[i].lines);
    }
    free(decoder->slots);
    reader_close(decoder->reader);
    pthread_cond_destroy(&decoder->changed);
    pthread_mutex_destroy(&decoder->lock);
    free(decoder);
}
