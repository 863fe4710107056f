/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_PIPE_WORKER_STDERR_H
#define GASPIPE_SUPERVISOR_PROCESS_PIPE_WORKER_STDERR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a worker prints, as lines. It does no I/O: it is fed bytes. A worker that floods is
 * read on, so that it does not block, but its lines are dropped: beyond a rate until it has
 * slowed down, beyond a total for good. A line tells how much was dropped.
 */
enum {
    WORKER_STDERR_LINE = 1024,     /* bytes; a longer line is told in pieces */
    WORKER_STDERR_RATE = 64 << 10, /* bytes a second, and as many at once */
    WORKER_STDERR_TOTAL = 1 << 20, /* bytes told in a worker's life */
};

struct worker_stderr {
    void (*tell)(void *context, const char *line);
    void *context;
    int64_t allowance; /* bytes that may be told now */
    int64_t refilled;  /* when that was reckoned: nanoseconds, monotonic */
    uint64_t told;     /* bytes */
    uint64_t dropped;  /* bytes, since the last line was told */
    bool over;         /* the total was reached, and that was told */
    size_t length;     /* of the line so far */
    char line[WORKER_STDERR_LINE];
};

void worker_stderr_init(struct worker_stderr *from, void (*tell)(void *context, const char *line),
                        void *context);

/* `now` in nanoseconds, monotonic. Zero bytes are left out. */
void worker_stderr_feed(struct worker_stderr *from, const char *bytes, size_t length, int64_t now);

/* The end: tells the last line, which may lack its newline. */
void worker_stderr_end(struct worker_stderr *from, int64_t now);

#endif
