/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_PROFILE_COST_FLAME_H
#define GASPIPE_TOOLS_COMMAND_PROFILE_COST_FLAME_H

#include "base/buf.h"
#include "tools/command/profile/cost_groups.h"

/* A stack with what it cost. The text is borrowed. */
struct cost_stack {
    const char *text; /* FRAME;FRAME;..., the outermost first */
    int64_t costs[COST_SIDES];
};

/* What is drawn. Everything is borrowed. */
struct cost_flame_stacks {
    const struct cost_stack *stacks; /* sorted */
    size_t count;
    bool compared;
    const char *unit; /* of the costs */
};

/* Appends the stacks as a flame graph. -1 with ERROR_SYSTEM. */
int cost_flame_put(struct buf *svg, const struct cost_flame_stacks *stacks, struct error *error);

#endif
