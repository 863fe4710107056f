/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_COST_STACKS_H
#define GASPIPE_TOOLS_COMMAND_COST_STACKS_H

#include "base/buf.h"
#include "slog/read/names.h"
#include "tools/command/cost_groups.h"

/*
 * Adds up folded stacks of one profile or of two that are compared. Frames of these differ by
 * function only, since a change moves lines.
 */
struct cost_stacks {
    bool compared;
    enum cost_unit unit;
    struct names names;           /* the stacks, VAT;METHOD;FRAME;... */
    int64_t (*costs)[COST_SIDES]; /* owned; by number of the stack */
    size_t count, capacity;
};

/* Ignores records other than stacks. -1 with ERROR_SYSTEM. */
int cost_stacks_add(struct cost_stacks *stacks, enum cost_side side,
                    const struct cost_record *record, struct error *error);

/*
 * Appends them sorted, one line `STACK COST` each; of two profiles `STACK BEFORE NOW`, from which
 * flamegraph.pl draws a differential flame graph.
 */
int cost_stacks_put_folded(const struct cost_stacks *stacks, struct buf *out, struct error *error);

/*
 * Appends them as a flame graph, SVG. Of two profiles, a frame is as wide as the larger of its
 * costs, red if it costs more now and blue if less.
 */
int cost_stacks_put_flame(const struct cost_stacks *stacks, struct buf *out, struct error *error);

void cost_stacks_free(struct cost_stacks *stacks);

#endif
