/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COUNT_PRINT_H
#define GASPIPE_SUPERVISOR_COUNT_COUNT_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "gas/gas_model.h"
#include "supervisor/count/count_run.h"
#include "supervisor/process/fingerprint.h"

/* What `gaspipe count` found, for people and for programs. */
struct count_findings {
    const char *const *arguments; /* of the user, ends with NULL */
    const struct count_run *runs;
    size_t run_count;            /* at least 1 */
    bool kinds;                  /* instructions were counted by kind, too */
    const struct gas_model *gas; /* NULL: no prices */
    const struct fingerprint *fingerprint;
};

/* Whether all runs were counted the same. */
bool count_findings_agree(const struct count_findings *findings);

/* A table like perf stat's, and words on what differs between the runs. */
void count_print_table(struct buf *out, const struct count_findings *findings);

/* One object for each run, {"kind":"run",...}, then {"kind":"summary",...}. */
void count_print_json(struct buf *out, const struct count_findings *findings);

#endif
