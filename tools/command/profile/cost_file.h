/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_PROFILE_COST_FILE_H
#define GASPIPE_TOOLS_COMMAND_PROFILE_COST_FILE_H

#include <stdint.h>

#include "base/error.h"

/* Files that gaspipe's --profile and --profile-folded write (docs/profile-format.md). */

enum cost_kind {
    COST_FUNCTION, /* of a delivery */
    COST_LINE,     /* of a delivery */
    COST_STACK,    /* of folded stacks */
};

/* A number that the file does not have. */
#define COST_NONE INT64_MIN

/* A line of a file. Texts are borrowed until the next; "" where there is none. */
struct cost_record {
    enum cost_kind kind;
    const char *vat_id, *vat, *method; /* vat_id: "" in folded stacks */
    int64_t crank_num, delivery_num;   /* COST_NONE: not said */
    const char *function, *file;
    int64_t line;      /* COST_NONE: none */
    const char *stack; /* COST_STACK: frames, `;` between, the outermost first; "": the engine */
    /* Computrons and instructions. A line and a stack have no calls and no totals. */
    int64_t calls, self, total, self_instructions, total_instructions;
};

typedef int cost_visit(void *context, const struct cost_record *record, struct error *error);

/*
 * Visits every line of the file, "-" for standard input; it may be compressed. -1 with ERROR_INPUT
 * (file and line named) or ERROR_SYSTEM, or what the visitor returned.
 */
int cost_file_read(const char *path, cost_visit *visit, void *context, struct error *error);

#endif
