/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_PROFILE_PROFILE_H
#define GASPIPE_BASE_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/pair_table.h"

/* The cost of something by function, call chain and line, as a tree. Every kind of profile becomes
 * one: of JavaScript, machine instructions, block cost, a trace. profile_write.h writes it. */

/* In the order of a node's numbers in docs/profile-format.md. */
enum profile_unit {
    PROFILE_COMPUTRONS,
    PROFILE_INSTRUCTIONS,
    PROFILE_NANOSECONDS,
    PROFILE_BLOCK_COST,
    PROFILE_UNITS
};

/* A profile has one unit, or two. */
enum { PROFILE_COSTS = 2 };

struct profile_cost {
    int64_t of[PROFILE_COSTS]; /* in the profile's units; sums saturate */
};

/* Texts are borrowed, from the profile's own or from its creator. */
struct profile_function {
    const char *name;
    const char *module;   /* the file of its machine code, without directory; NULL: JavaScript */
    const char *file;     /* the source file in which it begins; NULL: unknown */
    int64_t line;         /* in `file` */
    const char *build_id; /* the module's, in hexadecimal; NULL: unknown */
    const char *inlined;  /* functions compiled into it, '\n' between; NULL: unknown */
    int64_t calls;        /* this and the costs are set by profile_sum() */
    struct profile_cost self, total; /* total: with all it called, recursive calls once */
};

/* A function as called by the node `caller`, which has a smaller index. */
struct profile_node {
    uint32_t caller, function;
    int64_t calls; /* 0: unknown */
    struct profile_cost self;
};

#define PROFILE_NO_FUNCTION UINT32_MAX

struct profile_line {
    uint32_t function; /* or PROFILE_NO_FUNCTION */
    const char *file;  /* NULL: unknown */
    int64_t line;
    const char *inlined; /* the innermost function compiled in there; NULL: none, or unknown */
    struct profile_cost self;
};

/* When a call was, in nanoseconds since the delivery began. */
struct profile_span {
    uint32_t node;
    int64_t begin, length;
};

/* Texts that are freed together. All zeros: none. */
struct profile_texts {
    struct profile_text_block *blocks;
};

/* Returns a copy of the text; NULL if out of memory. */
const char *profile_texts_copy(struct profile_texts *texts, const char *text);

/* Like profile_texts_copy(), with '_' for what a folded stack cannot hold: blanks, `;`, bytes that
 * are not ASCII. */
const char *profile_texts_copy_name(struct profile_texts *texts, const char *name);
void profile_texts_free(struct profile_texts *texts);

struct profile {
    enum profile_unit units[PROFILE_COSTS];
    size_t unit_count;
    bool has_root; /* nodes[1] is an engine that calls all others, not a frame of a stack */
    struct profile_function *functions;
    struct profile_node *nodes; /* nodes[0] stands for no caller */
    struct profile_line *lines; /* callgrind wants them in the order of their functions */
    size_t function_count, node_count, line_count;
    size_t function_capacity, node_capacity, line_capacity;
    struct profile_texts texts;
    struct pair_table children;       /* from caller and function to the node */
    const struct profile_span *spans; /* borrowed; NULL: unknown */
    size_t span_count;
    uint64_t spans_left_out;
};

/* Makes a profile of one unit, with nodes[0]. Returns false if out of memory, like all below; close
 * it in any case. */
bool profile_init(struct profile *profile, enum profile_unit unit);

/* Appends an item of zeros; the others may move. NULL if out of memory. */
struct profile_function *profile_add_function(struct profile *profile);
struct profile_line *profile_add_line(struct profile *profile);

/* Returns the index of a new node; 0 if out of memory. */
size_t profile_add_node(struct profile *profile, size_t caller, size_t function);

/* Returns the index of the existing node, or of a new one. */
size_t profile_child(struct profile *profile, size_t caller, size_t function);

/* True if the node's function is also one of its callers, whose total then includes the node's. */
bool profile_is_recursive(const struct profile *profile, size_t node);

/* Returns each node's cost with its callees, indexed by node. The caller frees it. NULL if out of
 * memory. */
struct profile_cost *profile_totals(const struct profile *profile);

/* Sets calls and costs of the functions. Returns 0, or -1 with ERROR_SYSTEM if out of memory. */
int profile_sum(struct profile *profile, struct error *error);

void profile_cost_add(struct profile_cost *sum, const struct profile_cost *more);

/* Frees all it has. All zeros may be closed. */
void profile_close(struct profile *profile);

#endif
