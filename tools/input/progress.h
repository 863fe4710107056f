/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_INPUT_PROGRESS_H
#define GASPIPE_TOOLS_INPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Says on stderr how far a long reading has come, every few seconds and only
 * where stderr is a terminal: somebody waits there.
 */
struct progress {
    bool wanted;
    int64_t next; /* when the next line is due, ns of CLOCK_MONOTONIC */
};

/* `wanted`: false where standard output shows what happens. */
void progress_begin(struct progress *progress, bool wanted);

/* Of a file `position` of `size` bytes (0: not known) are read, and in all so many lines. */
void progress_show(struct progress *progress, const char *path, uint64_t position, uint64_t size,
                   uint64_t lines);

#endif
