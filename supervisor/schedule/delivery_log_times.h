/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_DELIVERY_LOG_TIMES_H
#define GASPIPE_SUPERVISOR_DELIVERY_LOG_TIMES_H

#include "base/error.h"
#include "supervisor/schedule/delivery_log.h"
#include "supervisor/schedule/report.h"

/*
 * Fills the report's total, pipe, worker and kernel. They are cut by CLOCK_MONOTONIC where
 * the worker stamps with that, as ours does, to the nanosecond; else by its timestamps and
 * the same clock here, to the microsecond, as xsnap-worker has it. Where the worker's stamps
 * are not all there, or its clock is another one or was set, pipe and worker are REPORT_NONE,
 * since nobody knows them; without any stamps kernel is too. -1 when memory ran out.
 */
int delivery_log_times_fill(struct delivery_log *log, const struct delivery_log_end *end,
                            struct delivery_report *report, struct error *error);

void delivery_log_times_free(struct delivery_log_times *times);

#endif
