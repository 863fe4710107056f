/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_CALLS_CALL_TREE_H
#define GASPIPE_TRACE_CALLS_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/memory.h"

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
    uint32_t latest; /* the last result of call_tree_child(), which is likely again; 0: none yet */
};

/* Below the root there may be groups, such as deliveries, with numbers above all functions'. */
enum { CALL_TREE_GROUPS = 0x8000 };

struct call_tree {
    struct call_node *nodes;
    uint32_t *index;                    /* a hash table of nodes by parent and function */
    size_t count, capacity, index_size; /* index_size: a power of two */
};

/* 0, or -1 with ERROR_SYSTEM without memory. */
int call_tree_open(struct call_tree *tree, struct error *error);
void call_tree_close(struct call_tree *tree);

/* Sets all totals. */
void call_tree_settle(struct call_tree *tree);

/* The sum of a function's nodes. `total` has the time of recursive calls once. */
struct call_sum {
    uint32_t function;
    uint64_t calls, self, total;
};

/* Sums the nodes below `root` (0: all), after call_tree_settle(); most expensive first. The caller
 * frees *sums. 0, or -1 with ERROR_SYSTEM if out of memory. */
int call_tree_sums(const struct call_tree *tree, size_t root, struct call_sum **sums, size_t *count,
                   struct error *error);

/* The longest calls of each group of a tree, such as a delivery: when they began and how long they
 * took. If a call is included, so are its callers, which took at least as long. */

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
    bool failed; /* out of memory: spans are missing */
};

/* Sorts all lists by when their calls began, callers first. Nothing can be added afterwards. */
void call_spans_settle(struct call_spans *spans);

void call_spans_free(struct call_spans *spans);

struct stack_frame {
    size_t node;    /* of the tree */
    uint64_t begin; /* ticks; 0: before the first that is known */
};

/* Receives a thread's calls in their order; the innermost one ends. Ticks are the events', 0 before
 * the first. */
struct call_listener {
    void *context;
    void (*begun)(void *context, uint32_t function, uint64_t ticks);
    void (*ended)(void *context, uint32_t function, uint64_t ticks);
    /* Before `begun` an argument of that call, from 1 on; before `ended` its result, 0. NULL: not
     * received. */
    void (*value)(void *context, uint32_t function, unsigned which, uint64_t value);
};

/* Follows the stack of one thread by its events, and adds its calls to a tree. */
struct thread_stack {
    struct stack_frame *frames; /* outermost first */
    size_t depth, capacity;
    struct call_spans *spans;             /* borrowed: gets each call that ends; NULL: none */
    const struct call_listener *listener; /* borrowed; NULL: none */
    uint32_t thread;                      /* the thread's id, for the listener */
    uint64_t deep;                        /* calls below the frames that are not known */
    uint64_t ending; /* calls on top of the stack that were unwound since the last event */
    uint64_t last;   /* ticks of the last event, all 64 bits; 0: none yet */
    bool stamped;    /* cuts are where TRACE_STAMP says so, not by the time of events */
    uint64_t value;  /* the lower part of the argument or result that comes */
    bool orphan;     /* the next event leaves a function that is not on the stack */
    uint64_t lost;   /* events, as of the last TRACE_LOST */
    size_t root;     /* the node below which calls begin */
    uint64_t events, unwound, unmatched; /* counts, for reports */
};

/* Times at which calls are split, such as the ends of deliveries. */
struct call_cuts {
    const uint64_t *ticks;  /* rising */
    const uint32_t *groups; /* groups[i] holds from ticks[i] on; 0: the root itself */
    size_t count;
    size_t next;
};

/* Adds a thread's events in their order. 0, or -1 with ERROR_SYSTEM without memory. */
int thread_stack_add(struct thread_stack *stack, struct call_tree *tree, struct call_cuts *cuts,
                     const uint64_t *events, size_t count, struct error *error);

/* The thread has ended, with whatever is on its stack. */
void thread_stack_end(struct thread_stack *stack, const struct call_tree *tree);
void thread_stack_free(struct thread_stack *stack);

enum { TRACE_LANES_MAX = 256 };

/* The events of one process added up as they come, thread by thread. */
struct trace_sums {
    struct call_tree tree;
    struct thread_stack stacks[TRACE_LANES_MAX];
    struct call_cuts cuts[TRACE_LANES_MAX]; /* where there are some */
    bool cut;
};

/* The counts of all threads. */
struct trace_counts {
    uint64_t events;    /* entries and exits of functions */
    uint64_t unwound;   /* calls that ended without returning */
    uint64_t unmatched; /* calls without an exit: 0 unless signals interfere */
    uint64_t lost;      /* events that found no space */
};

/* 0, or -1 with ERROR_SYSTEM without memory; it is then closed. */
int trace_sums_open(struct trace_sums *sums, struct error *error);
void trace_sums_close(struct trace_sums *sums);

/* As a trace_sink's; lanes from TRACE_LANES_MAX on are left out. */
int trace_sums_add(struct trace_sums *sums, unsigned lane, const uint64_t *events, size_t count,
                   struct error *error);
void trace_sums_end_lane(struct trace_sums *sums, unsigned lane);

struct trace_counts trace_sums_counts(const struct trace_sums *sums);

#endif
