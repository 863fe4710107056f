/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a slogfile holds, the reader ends, stays within its memory, and what
 * it gives adds up; spans follow each other without gap.
 */
#include <string.h>

#include "slog/model.h"
#include "slog/record.h"
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

static void feed_lines(struct model *model, const char *text, size_t size)
{
    const char *end = text + size;
    struct record record;
    struct error error;
    const char *why;

    for (uint64_t number = 1; text < end; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline == NULL ? end : newline) - text);

        if (record_read(text, length, &record, &why) &&
            model_feed(model, &record, number, &error) != 0)
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
    if (size > 0)
        memcpy(text, data, size);
    feed_lines(model, text, size);
    model_finish(model);
    model_free(model);
    free(text);
    return 0;
}
