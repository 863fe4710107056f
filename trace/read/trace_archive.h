/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_READ_TRACE_ARCHIVE_H
#define GASPIPE_TRACE_READ_TRACE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/read/trace_clock.h"
#include "trace/read/trace_sums.h"

/*
 * A trace's file added up: all processes in one tree, whose groups are deliveries. What a worker
 * does outside of deliveries, such as loading its runtime, is below the root itself.
 */

struct archive_function {
    char *name; /* owned */
    uint32_t module;
    uint64_t address;
};

struct archive {
    struct archive_function *functions; /* functions[i] has the number i + 1 */
    size_t function_count, function_capacity;
    char **modules; /* owned paths */
    size_t module_count;
    char **groups; /* owned: "v1 transfer #3"; groups[i] has the number CALL_TREE_GROUPS + i */
    size_t group_count;
    struct call_tree tree; /* settled */
    struct trace_counts counts;
    struct trace_clock clock;
    bool torn; /* the writer was killed: the file ends within a block */
};

/* 0, or -1 with ERROR_INPUT or ERROR_SYSTEM. To be freed in any case. */
int archive_read(struct archive *archive, const char *path, struct error *error);
void archive_free(struct archive *archive);

#endif
