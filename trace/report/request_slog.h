/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_REPORT_REQUEST_SLOG_H
#define GASPIPE_TRACE_REPORT_REQUEST_SLOG_H

#include "base/buf.h"
#include "base/error.h"
#include "trace/read/trace_archive.h"

/*
 * Appends a trace's requests as a slogfile (docs/slog-format.md), so that slogreport says which
 * made which others wait. A request is a delivery to the vat of its thread. The vat `arrivals` sent
 * it as a message when it arrived. -1 with ERROR_INPUT if the trace has no requests, or with
 * ERROR_SYSTEM.
 */
int request_slog_put(struct buf *out, const struct archive *archive, struct error *error);

#endif
