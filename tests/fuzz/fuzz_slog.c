/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a slogfile holds, the reader ends, stays within its memory, finds the
 * same with every set of instructions, and what it gives adds up; spans follow each
 * other without gap.
 */
#include <stddef.h>
#include <string.h>

#include "base/json/skip.h"
#include "slog/model/model.h"
#include "slog/read/record.h"
#include "tests/fuzz/fuzz.h"

static uint64_t known(int64_t time)
{
    return time == MODEL_NONE ? 0 : (uint64_t)time;
}

static int on_delivery(void *context, const struct model_delivery *delivery, struct error *error)
{
    (void)context;
    (void)error;
    check(known(delivery->total) == known(delivery->pipe) + known(delivery->worker) +
                                        known(delivery->kernel) + known(delivery->unattributed));
    for (size_t i = 1; i < delivery->span_count; i++)
        check(delivery->spans[i].from == delivery->spans[i - 1].to);
    for (size_t i = 0; i < delivery->event_count; i++)
        check(delivery->events[i].label != NULL && delivery->events[i].kind != NULL);
    check(strlen(delivery->description) < SIZE_MAX / 2);
    return 0;
}

static void on_note(void *context, const struct model_note *note)
{
    (void)context;
    check(note->vat_id != NULL);
}

static bool read_line(const char *text, size_t length, struct record *record)
{
    const char *why, *other_why;
    struct record other;
    bool good, other_good;

    check(skip_choose(SKIP_PORTABLE));
    other_good = record_read(text, length, &other, &other_why);
    if (!skip_choose(SKIP_AVX2))
        skip_choose(SKIP_SSE2);
    good = record_read(text, length, record, &why);
    check(good == other_good && (good || why == other_why));
    check(!good || (record->type == other.type && record->time == other.time &&
                    record->monotime == other.monotime &&
                    memcmp(&record->vat_id, &other.vat_id,
                           sizeof other - offsetof(struct record, vat_id)) == 0));
    return good;
}

static void feed_lines(struct model *model, const char *text, size_t size)
{
    const char *end = text + size;
    struct record record;
    struct error error;

    for (uint64_t number = 1; text < end; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline == NULL ? end : newline) - text);

        if (read_line(text, length, &record) && model_feed(model, &record, number, &error) != 0)
            return;
        text += length + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct model_sink sink = {.delivery = on_delivery, .note = on_note};
    struct error error;
    struct model *model = model_new(&sink, true, &error);
    char *text = calloc(1, size + SCAN_PADDING);

    check(model != NULL && text != NULL);
    model_set_words(model);
    if (size > 0)
        memcpy(text, data, size);
    feed_lines(model, text, size);
    model_finish(model);
    model_free(model);
    free(text);
    return 0;
}
