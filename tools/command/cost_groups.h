/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_COST_GROUPS_H
#define GASPIPE_TOOLS_COMMAND_COST_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/read/names.h"

/*
 * Reads files of gaspipe's --profile, --native-profile and --profile-folded (docs/profile-
 * format.md).
 */

enum cost_kind {
    COST_FUNCTION, /* of a delivery */
    COST_LINE,     /* of a delivery */
    COST_STACK,    /* of folded stacks */
};

/* The unit of `self` and `total`. */
enum cost_unit {
    COST_COMPUTRONS,
    COST_INSTRUCTIONS,
    COST_NANOSECONDS,
    COST_BLOCK_COST,
    COST_UNITS
};

/* "computrons", ... */
extern const char *const cost_unit_names[COST_UNITS];

/* A number that is absent. */
#define COST_NONE INT64_MIN

/* A line of a file. Texts are borrowed until the next line; "" if absent. */
struct cost_record {
    enum cost_kind kind;
    enum cost_unit unit;
    const char *vat_id, *vat, *method; /* vat_id: "" in folded stacks */
    int64_t crank_num, delivery_num;   /* COST_NONE if absent */
    const char *function, *file;       /* of a native function without source: its module */
    int64_t line;                      /* COST_NONE: none */
    const char *stack; /* COST_STACK: frames, `;` between, the outermost first; "": the engine */
    /*
     * Lines and stacks have no calls and no totals. Native functions have no self_instructions;
     * their costs are in `unit`.
     */
    int64_t calls, self, total, self_instructions, total_instructions;
};

typedef int cost_visit(void *context, const struct cost_record *record, struct error *error);

/*
 * Visits every line of the file ("-" is standard input), which may be compressed. -1 with
 * ERROR_INPUT (naming file and line) or ERROR_SYSTEM, or what the visitor returned.
 */
int cost_file_read(const char *path, cost_visit *visit, void *context, struct error *error);

/* Adds up the costs of deliveries by function, line, vat, method or delivery. */
enum cost_by { COST_BY_FUNCTION, COST_BY_LINE, COST_BY_VAT, COST_BY_METHOD, COST_BY_DELIVERY };

/* "function", "line", ...; ended by NULL. */
extern const char *const cost_by_names[];

/* The sides of a comparison; a single profile has only COST_NOW. */
enum cost_side { COST_NOW, COST_BEFORE, COST_SIDES };

/* Sums saturate. */
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
    bool compared;       /* functions then differ by name and file only, since a change moves
                            lines */
    struct names keys;
    struct cost_group *groups; /* owned; by number of their key */
    size_t count, capacity;
    struct cost_sums all[COST_SIDES]; /* of all added lines */
};

/* Adds a record if it belongs into these groups; ignores others. -1 with ERROR_SYSTEM. */
int cost_groups_add(struct cost_groups *groups, enum cost_side side,
                    const struct cost_record *record, struct error *error);

/*
 * Sorts the groups: the largest difference first if two profiles are compared, else the largest
 * self; equals by name. Nothing may be added afterwards.
 */
void cost_groups_sort(struct cost_groups *groups);

/* The change of a group's self. */
int64_t cost_group_difference(const struct cost_group *group);

void cost_groups_free(struct cost_groups *groups);

#endif
