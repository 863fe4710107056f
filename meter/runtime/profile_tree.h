/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_RUNTIME_PROFILE_TREE_H
#define GASPIPE_METER_RUNTIME_PROFILE_TREE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "meter/runtime/profile.h"

/* The tree of calls, for the eyes of who writes it. */

struct profile_node {
    struct profile_function *function;
    struct profile_node *parent;
    _Atomic(struct profile_node *) child; /* the last one made */
    struct profile_node *sibling;         /* the one made before this */
    _Atomic uint64_t units;
    _Atomic uint64_t calls;
    uint32_t depth;
    bool told; /* it belongs to what is being written */
};

/* The first of all nodes, which lie one behind the other, each behind its parent, and how many
 * there are. */
struct profile_node *profile_nodes(unsigned *count);

/* From 1; 0: nobody. */
unsigned profile_number_of_node(const struct profile_node *node);

/* The lines that have had units; NULL: no more. */
struct profile_line *profile_first_line(void);
struct profile_line *profile_line_behind(struct profile_line *line);

/* From now on only what is in a region counts: of this thread, or of all. */
void profile_count_regions(void);
void profile_enter_region(bool of_process, bool entered);

#endif
