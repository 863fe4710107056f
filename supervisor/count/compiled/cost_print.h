/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COMPILED_COST_PRINT_H
#define GASPIPE_SUPERVISOR_COUNT_COMPILED_COST_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "gas/gas_model.h"
#include "supervisor/count/compiled/cost_run.h"

/* What `gaspipe count --counter compiled` found, for people and for programs. */
struct cost_findings {
    const char *const *arguments; /* of the user, ends with NULL */
    const struct cost_run *runs;
    size_t run_count;            /* at least 1 */
    const struct gas_model *gas; /* NULL: no prices */
};

/* Whether all runs were counted the same. */
bool cost_findings_agree(const struct cost_findings *findings);

void cost_print_table(struct buf *out, const struct cost_findings *findings);

/* One object for each run, {"kind":"run",...}, then {"kind":"summary",...}. */
void cost_print_json(struct buf *out, const struct cost_findings *findings);

#endif
