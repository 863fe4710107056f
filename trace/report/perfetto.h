/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_REPORT_PERFETTO_H
#define GASPIPE_TRACE_REPORT_PERFETTO_H

#include "base/error.h"

/*
 * Writes a trace's file (docs/trace-format.md) as a trace for Perfetto, protobuf: a track for each
 * thread with its functions, and one for each vat with its deliveries, on CLOCK_MONOTONIC. -1 with
 * ERROR_INPUT or ERROR_SYSTEM.
 */
int perfetto_write(const char *trace, const char *path, struct error *error);

#endif
