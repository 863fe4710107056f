/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_COST_GROUPS_H
#define GASPIPE_TOOLS_COMMAND_COST_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "slog/read/names.h"
#include "tools/command/cost_file.h"

/* Costs of many deliveries added up: by function, line, vat, method or delivery. */
enum cost_by { COST_BY_FUNCTION, COST_BY_LINE, COST_BY_VAT, COST_BY_METHOD, COST_BY_DELIVERY };

/* "function", "line", ...; ended by NULL. */
extern const char *const cost_by_names[];

/* Two profiles that are compared; one that is not has only COST_NOW. */
enum cost_side { COST_NOW, COST_BEFORE, COST_SIDES };

/* Wrap around where a file's numbers are too large to add up. */
struct cost_sums {
    int64_t calls, self, total, self_instructions, total_instructions;
    bool has_calls, has_total, has_instructions;
};

struct cost_group {
    /* Borrowed from the groups; "" for none. */
    const char *vat_id, *vat, *method, *function, *file;
    int64_t line, crank_num, delivery_num; /* COST_NONE: none */
    struct cost_sums sides[COST_SIDES];
};

/* All zeros but for `by` and `compared` is empty. */
struct cost_groups {
    enum cost_by by;
    enum cost_unit unit; /* of self and total */
    bool compared;       /* functions are then told apart by name and file: a change moves lines */
    struct names keys;
    struct cost_group *groups; /* owned; by number of their key */
    size_t count, capacity;
    struct cost_sums all[COST_SIDES]; /* of all lines that were added */
};

/* Adds what belongs into such groups; the rest is passed over. -1 with ERROR_SYSTEM. */
int cost_groups_add(struct cost_groups *groups, enum cost_side side,
                    const struct cost_record *record, struct error *error);

/*
 * Sorts the groups: the largest difference first where two profiles are compared, else the
 * largest self; equals by name. Nothing may be added then.
 */
void cost_groups_sort(struct cost_groups *groups);

/* Computrons that a group has now and had not before. */
int64_t cost_group_difference(const struct cost_group *group);

void cost_groups_free(struct cost_groups *groups);

#endif
