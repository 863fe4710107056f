/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/input/feed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/scan.h"
#include "base/log.h"
#include "slog/read/decoder.h"
#include "tools/input/file_order.h"
#include "tools/input/follow.h"
#include "tools/input/progress.h"

enum {
    /* Bad lines that are named one by one; more are only counted. */
    NAMED_BAD_LINES = 10,
    /* A file that begins with as many lines that are none of a slog's is no slogfile. */
    LINES_TO_RECOGNISE = 100,
};

struct feeding {
    const struct feed *feed;
    struct tally *tally;
    struct model *model;
    /* Of the file that is being read: */
    const char *path;
    struct decoder *decoder;
    uint64_t number; /* of the line */
    uint64_t good_lines;
    uint64_t first_bad; /* bad lines before its first good one */
    const char *first_why;
    struct progress progress;
};

/* ---- bad lines ---------------------------------------------------------- */

static int no_slogfile(const struct feeding *feeding, struct error *error)
{
    if (feeding->first_why != NULL && strcmp(feeding->first_why, SCAN_BOM_WHY) == 0)
        return error_set(error, ERROR_INPUT, "%s: %s", feeding->path, feeding->first_why);
    return error_set(error, ERROR_INPUT,
                     "%s: not a slogfile: no line is a JSON object with \"type\" and \"time\"",
                     feeding->path);
}

static void name_bad_line(struct feeding *feeding, uint64_t number, const char *why)
{
    if (feeding->tally->bad_lines++ < NAMED_BAD_LINES)
        log_line("%s:%" PRIu64 ": left out: %s", feeding->path, number, why);
}

/* Nothing is said of bad lines before a good one has shown that this is a slogfile at all. */
static int bad_beginning(struct feeding *feeding, const char *why, struct error *error)
{
    if (feeding->first_bad++ == 0)
        feeding->first_why = why;
    return feeding->first_bad < LINES_TO_RECOGNISE ? 0 : no_slogfile(feeding, error);
}

static int bad_line(struct feeding *feeding, const struct decoder_line *line, struct error *error)
{
    if (feeding->good_lines == 0)
        return bad_beginning(feeding, line->why, error);
    /* What a crash left of the last line is no fault of the file's. */
    if (line->torn) {
        feeding->tally->torn_lines++;
        log_line("%s:%" PRIu64 ": the last line is torn and left out", feeding->path,
                 feeding->number);
        return 0;
    }
    if (feeding->feed->strict)
        return error_set(error, ERROR_INPUT, "%s:%" PRIu64 ": %s", feeding->path, feeding->number,
                         line->why);
    name_bad_line(feeding, feeding->number, line->why);
    return 0;
}

/* The first good line: what is bad before it, as where a file was cut, is bad lines now. */
static int good_beginning(struct feeding *feeding, struct error *error)
{
    if (feeding->first_bad == 0)
        return 0;
    if (feeding->feed->strict)
        return error_set(error, ERROR_INPUT, "%s:1: %s", feeding->path, feeding->first_why);
    name_bad_line(feeding, 1, feeding->first_why);
    if (feeding->first_bad > 1)
        log_line("%s: left out: all lines before line %" PRIu64, feeding->path, feeding->number);
    feeding->tally->bad_lines += feeding->first_bad - 1;
    return 0;
}

/* ---- reading ------------------------------------------------------------ */

static int feed_take_line(struct feeding *feeding, const struct decoder_line *line,
                          struct error *error)
{
    feeding->tally->lines++;
    feeding->number++;
    if (line->blank)
        return 0;
    if (line->why != NULL)
        return bad_line(feeding, line, error);
    if (feeding->good_lines++ == 0 && good_beginning(feeding, error) != 0)
        return -1;
    if (feeding->feed->line != NULL &&
        feeding->feed->line(feeding->feed->context, &line->record, error) != 0)
        return -1;
    if (model_feed(feeding->model, &line->record, feeding->number, error) != 0)
        return error_prefix(error, "%s:%" PRIu64, feeding->path, feeding->number);
    return 0;
}

static int read_lines(struct feeding *feeding, bool follow, struct error *error)
{
    struct decoder_batch batch;
    int got;

    while ((got = decoder_next(feeding->decoder, follow, &batch, error)) > 0) {
        for (size_t i = 0; i < batch.count; i++)
            for (uint64_t j = 0; j < batch.lines[i].count; j++)
                if (feed_take_line(feeding, &batch.lines[i], error) != 0)
                    return -1;
        progress_show(&feeding->progress, feeding->path, batch.position,
                      decoder_size(feeding->decoder), feeding->tally->lines);
    }
    return got;
}

/* The file was cut back, as log rotation by copying does it, and is another one now. */
static int begin_again(struct feeding *feeding, struct error *error)
{
    int went_back = decoder_go_back(feeding->decoder, error);

    if (went_back <= 0)
        return went_back;
    log_line("%s was truncated and is read again from the beginning", feeding->path);
    feeding->number = 0;
    return 0;
}

/* Reads what is there and waits for more, until the file is gone. */
static int follow_lines(struct feeding *feeding, struct follow *follow, struct error *error)
{
    const struct feed *feed = feeding->feed;

    for (;;) {
        int grown;

        if (read_lines(feeding, true, error) != 0 ||
            (feed->idle != NULL && feed->idle(feed->context, error) != 0))
            return -1;
        grown = follow_wait(follow, feeding->path, error);
        if (grown <= 0)
            return grown;
        if (begin_again(feeding, error) != 0)
            return -1;
    }
}

static int follow_file(struct feeding *feeding, struct error *error)
{
    struct follow follow;
    int result;

    if (follow_begin(&follow, feeding->path, error) != 0)
        return -1;
    result = follow_lines(feeding, &follow, error);
    follow_end(&follow);
    return result;
}

/* `growing`: its writer may still be at work. */
static int read_file(struct feeding *feeding, bool growing, struct error *error)
{
    if (read_lines(feeding, false, error) != 0)
        return -1;
    if (feeding->good_lines == 0)
        return no_slogfile(feeding, error);
    if (decoder_is_cut(feeding->decoder) && !growing)
        log_line("%s: the compressed data is incomplete; the report covers what is there",
                 feeding->path);
    return 0;
}

static int open_and_read(struct feeding *feeding, bool follow, struct error *error)
{
    int result = 0;

    feeding->good_lines = 0;
    feeding->first_bad = 0;
    feeding->number = 0;
    model_begin_file(feeding->model, feeding->feed->files[1] != NULL ? feeding->path : NULL);
    feeding->decoder = decoder_open(feeding->path, follow ? 1 : feeding->feed->jobs, error);
    if (feeding->decoder == NULL)
        return -1;
    /* A pipe is followed by reading it. */
    if (follow && strcmp(feeding->path, "-") != 0)
        result = follow_file(feeding, error);
    if (result == 0)
        result = read_file(feeding, follow, error);
    if (decoder_losses(feeding->decoder) > 0)
        log_line("%s: records are missing, since the node wrote faster than they were read, or "
                 "stopped within one",
                 feeding->path);
    decoder_close(feeding->decoder);
    return result;
}

static int read_files_of(struct feeding *feeding, char *const *files, struct error *error)
{
    for (char *const *file = files; *file != NULL; file++) {
        feeding->path = *file;
        if (open_and_read(feeding, feeding->feed->follow && file[1] == NULL, error) != 0)
            return -1;
    }
    model_finish(feeding->model);
    return 0;
}

/* The one that is followed is the last one, as the user says. */
static int read_files(struct feeding *feeding, struct error *error)
{
    const struct feed *feed = feeding->feed;
    char **ordered;
    int result;

    if (feed->follow)
        return read_files_of(feeding, feed->files, error);
    ordered = file_order(feed->files, error);
    if (ordered == NULL)
        return -1;
    result = read_files_of(feeding, ordered, error);
    free(ordered);
    return result;
}

static void on_note(void *context, const struct model_note *note)
{
    struct feeding *feeding = context;
    struct tally *tally = feeding->tally;

    tally->kernels += note->kind == MODEL_NOTE_KERNEL;
    runs_note(&tally->runs, note);
    tally->clock_changes += note->kind == MODEL_NOTE_CLOCK;
    tally->unended += note->kind == MODEL_NOTE_UNENDED;
    tally->unstarted += note->kind == MODEL_NOTE_UNSTARTED;
    tally->too_big += note->kind == MODEL_NOTE_TOO_BIG;
    if (feeding->feed->note != NULL)
        feeding->feed->note(feeding->feed->context, note);
}

static void on_frame(void *context, const struct model_frame *frame)
{
    const struct feed *feed = ((struct feeding *)context)->feed;

    if (feed->frame != NULL)
        feed->frame(feed->context, frame);
}

static void on_inbound(void *context, const struct model_inbound *inbound)
{
    const struct feed *feed = ((struct feeding *)context)->feed;

    if (feed->inbound != NULL)
        feed->inbound(feed->context, inbound);
}

static void on_phase(void *context, const struct phase_span *span)
{
    struct feeding *feeding = context;
    const struct feed *feed = feeding->feed;

    feeding->tally->phases[span->phase] += span->own;
    if (feed->phase != NULL)
        feed->phase(feed->context, span);
}

static void on_block(void *context, const struct phase_block *block)
{
    const struct feed *feed = ((struct feeding *)context)->feed;

    if (feed->block != NULL)
        feed->block(feed->context, block);
}

static int feed_on_delivery(void *context, const struct model_delivery *delivery,
                            struct error *error)
{
    struct feeding *feeding = context;
    const struct feed *feed = feeding->feed;

    feeding->tally->deliveries++;
    return feed->delivery(feed->context, delivery, error);
}

int feed_run(const struct feed *feed, struct tally *tally, struct error *error)
{
    struct feeding feeding = {.feed = feed, .tally = tally};
    struct model_sink sink = {.delivery = feed_on_delivery,
                              .note = on_note,
                              .frame = on_frame,
                              .inbound = on_inbound,
                              .phase = on_phase,
                              .block = on_block,
                              .context = &feeding};
    int result;

    *tally = (struct tally){0};
    feeding.model = model_new(&sink, feed->labels, error);
    if (feeding.model == NULL)
        return -1;
    model_set_gas(feeding.model, feed->gas);
    if (feed->words)
        model_set_words(feeding.model);
    progress_begin(&feeding.progress, feed->progress);
    result = read_files(&feeding, error);
    if (tally->bad_lines > NAMED_BAD_LINES)
        log_line("%" PRIu64 " more lines left out that are not slog lines",
                 tally->bad_lines - NAMED_BAD_LINES);
    tally->entries = model_take_entries(feeding.model);
    model_free(feeding.model);
    return result;
}

void tally_free(struct tally *tally)
{
    entries_free(&tally->entries);
}
