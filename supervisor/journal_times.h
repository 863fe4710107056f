/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_JOURNAL_TIMES_H
#define GASPIPE_SUPERVISOR_JOURNAL_TIMES_H

#include "base/error.h"
#include "supervisor/journal.h"
#include "supervisor/report.h"

/*
 * Fills the report's total, pipe, worker and kernel. They are cut by CLOCK_MONOTONIC where
 * the worker stamps with that, as ours does, to the nanosecond; else by its timestamps and
 * the same clock here, to the microsecond, as xsnap-worker has it. Where the worker's stamps
 * are not all there, or its clock is another one or was set, pipe and worker are REPORT_NONE,
 * since nobody knows them; without any stamps kernel is too. -1 when memory ran out.
 */
int journal_times_fill(struct journal *journal, const struct journal_end *end,
                       struct delivery_report *report, struct error *error);

void journal_times_free(struct journal_times *times);

#endif
