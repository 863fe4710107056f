/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a transcript or slogfile holds, its events end, and their spans can be read and
 * compared with themselves.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "supervisor/replay/source/source.h"
#include "supervisor/transcript/delivery_compare.h"
#include "tests/fuzz/fuzz.h"

/* The sum of a span's bytes, so that a sanitizer sees each of them. */
static unsigned read_span(struct scan_span span)
{
    unsigned sum = 0;

    for (size_t i = 0; i < span.length; i++)
        sum += (unsigned char)span.at[i];
    return sum;
}

/* A worker that does what was recorded is the same, up to where the record ends. */
static unsigned replay(const struct recorded_delivery *recorded)
{
    const struct compare_rules rules = {0};
    struct delivery_compare compare = {.recorded = recorded, .rules = &rules};
    struct scan_span answer;
    unsigned sum = read_span(recorded->delivery) + read_span(recorded->result.status) +
                   read_span(recorded->result.problem);

    for (size_t i = 0; i < recorded->syscall_count; i++) {
        struct buf message = {0};
        enum compare_result result;

        buf_printf(&message, "[\"syscall\",%.*s]", (int)recorded->syscalls[i].made.length,
                   recorded->syscalls[i].made.at);
        check(buf_reserve(&message, SCAN_PADDING) == 0);
        memset(message.data + message.length, 0, SCAN_PADDING);
        result = delivery_compare_syscall(
            &compare, (struct scan_span){message.data, message.length}, &answer);
        if (result == COMPARE_SAME)
            sum += read_span(answer);
        buf_free(&message);
        if (result != COMPARE_SAME)
            break;
    }
    difference_free(&compare.difference);
    return sum;
}

static unsigned read_event(const struct source_event *event)
{
    unsigned sum = read_span(event->vat_id) + read_span(event->name) +
                   read_span(event->manager_type) + read_span(event->bundle) +
                   read_span(event->bundle_id) + read_span(event->hash) +
                   read_span(event->fingerprint);

    return event->delivery != NULL ? sum + replay(event->delivery) : sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("transcript", MFD_CLOEXEC);
    char path[32];
    char *paths[] = {path};
    volatile unsigned sum = 0;
    struct source_event event;
    struct replay_source *source;
    struct error error;

    check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    source = line_source_open(paths, 1, &error);
    if (source == NULL) { /* a flight recorder, or compressed by a program that the error names */
        check((size >= 8 && memcmp(data, "AG-SLOG!", 8) == 0) ||
              strstr(error.text, " -dc") != NULL);
        close(fd);
        return 0;
    }
    while (source->operations->next(source, &event, &error) == 1)
        sum += read_event(&event);
    (void)sum; /* every byte was read for it */
    source->operations->close(source);
    close(fd);
    return 0;
}
