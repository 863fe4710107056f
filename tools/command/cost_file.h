/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_COST_FILE_H
#define GASPIPE_TOOLS_COMMAND_COST_FILE_H

#include <stdint.h>

#include "base/error.h"

/* Files that gaspipe's --profile (also that of gaspipe trace) and --native-profile, and those of
 * folded stacks, write (docs/profile-format.md). */

enum cost_kind {
    COST_FUNCTION, /* of a delivery */
    COST_LINE,     /* of a delivery */
    COST_STACK,    /* of folded stacks */
};

/* What `self` and `total` are. */
enum cost_unit {
    COST_COMPUTRONS,
    COST_INSTRUCTIONS,
    COST_NANOSECONDS,
    COST_BLOCK_COST,
    COST_UNITS
};

/* "computrons", ... */
extern const char *const cost_unit_names[COST_UNITS];

/* A number that the file does not have. */
#define COST_NONE INT64_MIN

/* A line of a file. Texts are borrowed until the next; "" where there is none. */
struct cost_record {
    enum cost_kind kind;
    enum cost_unit unit;
    const char *vat_id, *vat, *method; /* vat_id: "" in folded stacks */
    int64_t crank_num, delivery_num;   /* COST_NONE: not said */
    const char *function, *file;       /* of a native function without a source: its module */
    int64_t line;                      /* COST_NONE: none */
    const char *stack; /* COST_STACK: frames, `;` between, the outermost first; "": the engine */
    /* A line and a stack have no calls and no totals. Of a native function all is in instructions,
     * nanoseconds or block cost, and self_instructions are COST_NONE. */
    int64_t calls, self, total, self_instructions, total_instructions;
};

typedef int cost_visit(void *context, const struct cost_record *record, struct error *error);

/*
 * Visits every line of the file, "-" for standard input; it may be compressed. -1 with ERROR_INPUT
 * (file and line named) or ERROR_SYSTEM, or what the visitor returned.
 */
int cost_file_read(const char *path, cost_visit *visit, void *context, struct error *error);

#endif
