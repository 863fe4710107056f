/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_ABSENCE_H
#define GASPIPE_TRACE_READ_TRACE_ABSENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* When functions were left out of a trace, to keep what it costs. */

struct trace_absence {
    uint32_t function; /* its number, from 1 on */
    uint32_t process;  /* its number in a trace's file, where there are several */
    int64_t begin;     /* nanoseconds of CLOCK_MONOTONIC */
    uint64_t calls;    /* of the function in the process, traced; where a trace has been read */
};

/* In the order in which they began, each function of a process once. */
struct trace_absences {
    struct trace_absence *list; /* owned */
    size_t count, capacity;
};

/* The function is left out from then on. -1 with ERROR_SYSTEM without memory. */
int trace_absences_add(struct trace_absences *absences, uint32_t process, uint32_t function,
                       int64_t at, struct error *error);
void trace_absences_free(struct trace_absences *absences);

/* What words about them need. */
struct trace_absence_words {
    const char *(*name)(void *context, uint32_t function);
    /* That were traced; NULL: the absences have them. */
    uint64_t (*calls)(void *context, uint32_t function);
    void *context;
    int64_t zero; /* when time begins */
};

/* Appends which functions of a process were left out, those with most calls first, and when, on one
 * line; nothing when there are none. -1 with ERROR_SYSTEM without memory. */
int trace_absences_put(const struct trace_absences *absences, uint32_t process,
                       const struct trace_absence_words *words, struct buf *out,
                       struct error *error);

/* The same as JSON lines, of all functions. `name` is the process's. */
int trace_absences_put_json(const struct trace_absences *absences, uint32_t process,
                            const char *name, const struct trace_absence_words *words,
                            struct buf *out, struct error *error);

#endif
