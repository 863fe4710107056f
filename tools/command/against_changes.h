/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_AGAINST_CHANGES_H
#define GASPIPE_TOOLS_COMMAND_AGAINST_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/model/model.h"
#include "tools/command/overview.h"
#include "tools/stats/groups.h"

/* Compares two sets of deliveries, and prints the differences. */

struct change_side {
    struct groups groups;
    struct overview_counts counts;
    uint64_t chosen; /* deliveries */
};

/* -1 when out of memory. */
int change_side_add(struct change_side *side, const struct model_delivery *delivery,
                    struct error *error);

struct changes {
    const char *against; /* as on the command line */
    bool is_file;        /* `against` is a file */
    bool with_phases;    /* phases are divided among both sides, too */
    const bool *by;      /* GROUP_KINDS: list all changes of these groups; NULL: those that moved */
    struct change_side before, now;
};

/* Wants the groups of both sides. */
void changes_init(struct changes *changes);

/* Prints them. -1 if stdout cannot be written, or when out of memory. */
int changes_write(struct changes *changes, bool json, struct error *error);

void changes_free(struct changes *changes);

#endif
