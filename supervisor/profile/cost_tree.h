/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_COST_TREE_H
#define GASPIPE_SUPERVISOR_PROFILE_COST_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"

/* A worker's profile of one delivery, checked and added up. */

struct cost_sums {
    int64_t computrons;
    int64_t instructions;
};

/* A function, called from the node `caller`, which stands before it; [0] is the engine. */
struct cost_node {
    size_t caller, function;
    int64_t calls;
    struct cost_sums self, total; /* total: with all that it called */
};

struct cost_function {
    const char *name; /* borrowed from the tree */
    const char *file; /* NULL: native */
    int64_t line;
    int64_t calls;
    struct cost_sums self, total; /* what recursive calls spend is in the total once */
};

struct cost_line {
    const char *file; /* NULL: no line of any file */
    int64_t line;
    struct cost_sums self;
};

struct cost_tree {
    json_t *document; /* owned; strings point into it */
    struct cost_node *nodes;
    struct cost_function *functions;
    struct cost_line *lines;
    size_t node_count, function_count, line_count;
};

/*
 * Reads the member `profile` of a meter record. With `instructions` of the whole delivery, what
 * no node has of them is the engine's; -1: none were counted. 0, or -1 with ERROR_INPUT for what
 * is no profile (nothing is to be freed then), or ERROR_SYSTEM without memory.
 */
int cost_tree_read(struct cost_tree *tree, struct iovec profile, int64_t instructions,
                   struct error *error);
void cost_tree_free(struct cost_tree *tree);

#endif
