/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_ESTIMATE_MEASURE_H
#define GASPIPE_SUPERVISOR_ESTIMATE_MEASURE_H

#include "base/buf.h"
#include "base/error.h"
#include "supervisor/estimate/estimate_options.h"
#include "supervisor/estimate/suite.h"

/*
 * Makes the deliveries, lines for gaspipe run, in a process that is one, so that a suite's calls
 * are made and counted like any others. Appends what it printed (JSON lines) to *lines. 0, or -1
 * with the error, after its complaints were written to stderr. Deliveries that failed are no error
 * here: the lines tell.
 */
int measure_deliveries(const struct estimate_options *options, const struct suite *suite,
                       const struct buf *deliveries, struct buf *lines, struct error *error);

/* What counts: the files that count and compute, as one SHA-256; "" without the counter. */
int measure_fingerprint(const struct estimate_options *options, char *hex, struct error *error);

#endif
