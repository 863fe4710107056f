/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_CALLS_CALL_TREE_H
#define GASPIPE_TRACE_CALLS_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Events added up: for each chain of callers, how often it was called and how long it took.
 * Times are in ticks of the events' clock.
 */

/* nodes[0] is the root, below which every chain begins. A child has a larger index. */
struct call_node {
    uint32_t parent;
    uint32_t function; /* its number; those from CALL_TREE_GROUPS on are groups */
    uint64_t calls;
    uint64_t self;
    uint64_t total;  /* with all that it called; set by call_tree_settle() */
    uint32_t latest; /* the child that was asked for last, which mostly comes again; 0: none yet */
};

/* Below the root there may be groups, such as deliveries: numbers that are no function's. */
enum { CALL_TREE_GROUPS = 0x8000 };

struct call_tree {
    struct call_node *nodes;
    uint32_t *index;                    /* a hash table of nodes by parent and function */
    size_t count, capacity, index_size; /* index_size: a power of two */
};

/* 0, or -1 with ERROR_SYSTEM without memory. */
int call_tree_open(struct call_tree *tree, struct error *error);
void call_tree_close(struct call_tree *tree);

/* The child of a node; SIZE_MAX with ERROR_SYSTEM without memory. */
size_t call_tree_child(struct call_tree *tree, size_t parent, uint32_t function,
                       struct error *error);

/* Sets all totals. */
void call_tree_settle(struct call_tree *tree);

/* The same by function, all chains together. What recursive calls take is in `total` once. */
struct call_sum {
    uint32_t function;
    uint64_t calls, self, total;
};

/*
 * Of the nodes below `root` (0: all), after call_tree_settle(); most expensive first. *sums is to
 * be freed. 0, or -1 with ERROR_SYSTEM without memory.
 */
int call_tree_sums(const struct call_tree *tree, size_t root, struct call_sum **sums, size_t *count,
                   struct error *error);

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
