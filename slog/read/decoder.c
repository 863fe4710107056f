/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/read/decoder.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/thread.h"
#include "slog/read/reader.h"

/* The states of a slot, in this order and then from the first again. */
enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_FILLED, SLOT_SCANNING, SLOT_DONE };

/*
 * A block with its records. The lock guards `state`, which says who owns
 * the rest: one thread while it is SLOT_FILLING or SLOT_SCANNING, the caller once it is SLOT_DONE.
 */
struct slot {
    enum slot_state state;
    struct reader_block block;
    struct decoder_line *lines; /* owned */
    size_t count, capacity;
    int result; /* of reading and scanning: 1, 0 at the end, -1 with error */
    struct error error;
};

/*
 * Slots per job. More slots let reading run further ahead of parsing, so that neither waits for
 * the other; with still more, they would no longer fit the CPU's cache.
 */
enum { SLOTS_PER_JOB = 4 };

struct decoder {
    struct reader *reader; /* held by the thread that set `reading` */
    struct slot *slots;    /* used in turn */
    size_t slot_count;

    /* The caller's. */
    size_t next_to_give; /* never reset, like the two below; taken modulo slot_count */
    unsigned jobs, started;
    pthread_t threads[DECODER_MOST_JOBS - 1];

    pthread_mutex_t lock; /* guards all that follows, and the slots' states */
    pthread_cond_t changed;
    size_t next_to_fill, next_to_scan;
    bool reading; /* a thread uses the reader */
    bool stop;    /* nothing more to read */
};

/* ---- scanning ----------------------------------------------------------- */

static int grow_slot(struct slot *slot, struct error *error)
{
    struct decoder_line *lines =
        array_reserve(slot->lines, &slot->capacity, slot->count + 1, sizeof *lines);

    if (lines == NULL)
        return error_memory(error, "the lines of a slogfile");
    slot->lines = lines;
    return 0;
}

static bool is_empty_line(struct scan_span text)
{
    return text.length == 0 || scan_is(text, "\r");
}

static void scan_line(const struct slot *slot, struct scan_span text, struct decoder_line *line)
{
    line->count = 1;
    line->why = NULL;
    line->torn = slot->block.torn;
    line->blank = is_empty_line(text);
    if (slot->block.too_long)
        line->why = "longer than 32 MiB";
    else if (!line->blank)
        record_read(text.at, text.length, &line->record, &line->why);
}

/*
 * Runs of blank or bad lines become one entry: lines of one byte each would otherwise take
 * hundreds of times the file's size.
 */
static bool joins_last(const struct slot *slot)
{
    const struct decoder_line *line = &slot->lines[slot->count];
    struct decoder_line *last = slot->count > 0 ? &slot->lines[slot->count - 1] : NULL;

    if (last == NULL || line->blank != last->blank || line->why != last->why ||
        (!line->blank && line->why == NULL))
        return false;
    last->count++;
    return true;
}

static int scan_block(struct slot *slot, struct error *error)
{
    struct scan_span text;
    size_t position = 0;

    slot->count = 0;
    while (reader_next_line(&slot->block, &position, &text)) {
        if (slot->count == slot->capacity && grow_slot(slot, error) != 0)
            return -1;
        scan_line(slot, text, &slot->lines[slot->count]);
        slot->count += !joins_last(slot);
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

/* ---- sharing the work ----------------------------------------------------- */

/*
 * The caller, which has work of its own between two batches, reads or parses when it would have to
 * wait. So `jobs` cores are busy, whichever of the three takes longest.
 */

static struct slot *slot_at(struct decoder *decoder, size_t number)
{
    return &decoder->slots[number % decoder->slot_count];
}

/* Takes the next slot to read into, and the reader; NULL if either is in use. */
static struct slot *take_to_fill(struct decoder *decoder)
{
    struct slot *slot = slot_at(decoder, decoder->next_to_fill);

    if (decoder->stop || decoder->reading || slot->state != SLOT_FREE)
        return NULL;
    slot->state = SLOT_FILLING;
    decoder->next_to_fill++;
    decoder->reading = true;
    return slot;
}

/* Takes the next slot to parse; NULL if none is filled. */
static struct slot *take_to_scan(struct decoder *decoder)
{
    struct slot *slot = slot_at(decoder, decoder->next_to_scan);

    if (slot->state != SLOT_FILLED)
        return NULL;
    slot->state = SLOT_SCANNING;
    decoder->next_to_scan++;
    return slot;
}

/* A slot without lines, at the end of the file or after a failure, needs no parsing. */
static void fill_taken(struct decoder *decoder, struct slot *slot)
{
    bool more;

    fill_slot(decoder, slot, false);
    more = slot->result > 0;
    pthread_mutex_lock(&decoder->lock);
    slot->state = more ? SLOT_FILLED : SLOT_DONE;
    decoder->reading = false;
    decoder->stop |= !more;
    pthread_cond_broadcast(&decoder->changed);
    pthread_mutex_unlock(&decoder->lock);
}

static void scan_taken(struct decoder *decoder, struct slot *slot)
{
    scan_slot(slot);
    pthread_mutex_lock(&decoder->lock);
    slot->state = SLOT_DONE;
    pthread_cond_broadcast(&decoder->changed);
    pthread_mutex_unlock(&decoder->lock);
}

/*
 * Reads or parses one slot, or waits for one. Reading goes first: only one thread can read, and
 * all others wait for it. The lock is held on entry and on return.
 */
static void work_or_wait(struct decoder *decoder)
{
    struct slot *to_fill = take_to_fill(decoder);
    struct slot *to_scan = to_fill == NULL ? take_to_scan(decoder) : NULL;

    if (to_fill == NULL && to_scan == NULL) {
        pthread_cond_wait(&decoder->changed, &decoder->lock);
        return;
    }
    pthread_mutex_unlock(&decoder->lock);
    if (to_fill != NULL)
        fill_taken(decoder, to_fill);
    else
        scan_taken(decoder, to_scan);
    pthread_mutex_lock(&decoder->lock);
}

static void *run_thread(void *context)
{
    struct decoder *decoder = context;

    pthread_mutex_lock(&decoder->lock);
    while (!decoder->stop)
        work_or_wait(decoder);
    pthread_mutex_unlock(&decoder->lock);
    return NULL;
}

static void work_until_done(struct decoder *decoder, const struct slot *slot)
{
    pthread_mutex_lock(&decoder->lock);
    while (slot->state != SLOT_DONE)
        work_or_wait(decoder);
    pthread_mutex_unlock(&decoder->lock);
}

static int start_threads(struct decoder *decoder, struct error *error)
{
    for (; decoder->started < decoder->jobs - 1; decoder->started++) {
        int cause = thread_start(&decoder->threads[decoder->started], run_thread, decoder);

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
    decoder->slot_count = jobs > 1 ? (size_t)jobs * SLOTS_PER_JOB : 1;
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

/* Frees the slot that the caller was given last. */
static void free_last_slot(struct decoder *decoder)
{
    if (decoder->next_to_give == 0)
        return;
    pthread_mutex_lock(&decoder->lock);
    slot_at(decoder, decoder->next_to_give - 1)->state = SLOT_FREE;
    pthread_cond_broadcast(&decoder->changed);
    pthread_mutex_unlock(&decoder->lock);
}

static int next_by_threads(struct decoder *decoder, struct slot **slot, struct error *error)
{
    free_last_slot(decoder);
    if (start_threads(decoder, error) != 0)
        return -1;
    *slot = slot_at(decoder, decoder->next_to_give);
    work_until_done(decoder, *slot);
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
    /* Neither the end nor a failure advances, so the next call meets it again. */
    if (result <= 0)
        return result;
    decoder->next_to_give++;
    *batch = (struct decoder_batch){slot->lines, slot->count, slot->block.position};
    return 1;
}

struct reader *decoder_reader(const struct decoder *decoder)
{
    return decoder->reader;
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
