/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a transcript holds, its steps end, their spans can be read, and a step
 * that was given back comes again.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "supervisor/replay/transcript.h"
#include "tests/fuzz/fuzz.h"

/* The sum of a span's bytes, so that a sanitizer sees each of them. */
static unsigned read_span(struct scan_span span)
{
    unsigned sum = 0;

    for (size_t i = 0; i < span.length; i++)
        sum += (unsigned char)span.at[i];
    return sum;
}

static unsigned read_step(const struct transcript_step *step)
{
    return read_span(step->vat_id) + read_span(step->json) + read_span(step->name) +
           read_span(step->manager_type) + read_span(step->hash) + read_span(step->status) +
           read_span(step->problem);
}

static void read_steps(struct transcript *transcript)
{
    struct transcript_step step, again;
    struct error error;

    while (transcript_next(transcript, &step, &error) == 1) {
        unsigned sum = read_step(&step);

        transcript_unread(transcript);
        check(transcript_next(transcript, &again, &error) == 1);
        check(again.kind == step.kind && read_step(&again) == sum);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("transcript", MFD_CLOEXEC);
    struct transcript *transcript;
    struct error error;
    char path[32];

    check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    transcript = transcript_open(path, &error);
    check(transcript != NULL);
    read_steps(transcript);
    transcript_close(transcript);
    close(fd);
    return 0;
}
