/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_CALLS_CALL_SPANS_H
#define GASPIPE_TRACE_CALLS_CALL_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/calls/call_tree.h"

/*
 * When calls began and how long they took: of each group of a tree, such as a delivery, the longest
 * ones. A call is there only if its callers are, since they took at least as long.
 */

struct call_span {
    uint32_t node;          /* of the tree */
    uint64_t begin, length; /* ticks of the events' clock */
};

/* A heap with the shortest on top. */
struct call_span_list {
    struct call_span *spans; /* owned */
    size_t count, capacity;
    uint64_t left_out; /* calls that were shorter than these */
};

struct call_spans {
    size_t most;                  /* kept of each group; the caller sets it */
    struct call_span_list *lists; /* lists[i] is of the group CALL_TREE_GROUPS + i; owned */
    size_t list_count, capacity;
    bool failed; /* memory ran out: spans are missing */
};

/* Takes in a call; one that is in no group is passed over. */
void call_spans_add(struct call_spans *spans, uint32_t group, struct call_span span);

/* Sorts all lists by when their calls began, callers before what they call. Nothing can be added
 * afterwards. */
void call_spans_settle(struct call_spans *spans);

void call_spans_free(struct call_spans *spans);

#endif
