/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_ARCHIVE_H
#define GASPIPE_TRACE_READ_TRACE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/calls/call_tree.h"
#include "trace/read/trace_budget.h"
#include "trace/read/trace_file.h"

/* The sums of a trace's file: all processes in one tree, whose groups are deliveries. Calls outside
 * of deliveries, such as those that load a worker's runtime, are directly below the root. */

struct archive_function {
    char *name; /* owned */
    uint32_t module;
    uint64_t address;
};

/* A delivery, and when its worker had it. Texts are owned. */
struct archive_delivery {
    char *name; /* "v1 transfer #3" */
    char *vat_id, *vat, *method;
    int64_t crank_num, delivery_num; /* crank_num: -1 where it is not known */
    int64_t begin, end;              /* nanoseconds of CLOCK_MONOTONIC */
    struct archive_request {         /* thread 0: a worker's delivery, not a server's request */
        uint32_t process, thread;
        unsigned lane;
        uint64_t id;
        int64_t arrived;     /* nanoseconds of CLOCK_MONOTONIC */
        uint64_t begin, end; /* ticks, as in events */
    } request;
};

struct archive {
    struct archive_function *functions; /* functions[i] has the number i + 1 */
    size_t function_count, function_capacity;
    struct archive_module {
        char *path;        /* owned */
        char build_id[41]; /* in hexadecimal; "": not known */
    } * modules;           /* owned */
    size_t module_count;
    struct archive_delivery *deliveries; /* deliveries[i] is the group CALL_TREE_GROUPS + i */
    size_t delivery_count, delivery_capacity;
    struct call_tree tree;              /* settled */
    struct call_spans spans;            /* settled; of the deliveries */
    struct trace_exclusions exclusions; /* by the archive's functions */
    char **process_names; /* owned, and each of them; NULL: there is no such process */
    size_t process_count;
    struct trace_counts counts;
    struct trace_clock clock;
    bool torn; /* the writer was killed: the file ends within a block */
};

/* Receives all calls while an archive is read. Its processes, functions, deliveries and clock are
 * known by then. */
struct archive_listener {
    struct call_listener calls;
    int (*begin)(void *context, struct error *error);
    /* The calls that follow are of this thread. */
    int (*thread)(void *context, uint32_t process, uint32_t thread, struct error *error);
};

/*
 * Keeps `spans` calls of each delivery, the longest. `listener` may be NULL. 0, or -1 with
 * ERROR_INPUT or ERROR_SYSTEM. To be freed in any case.
 */
int archive_read(struct archive *archive, const char *path, size_t spans,
                 const struct archive_listener *listener, struct error *error);
void archive_free(struct archive *archive);

#endif
