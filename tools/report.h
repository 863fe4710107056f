/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_REPORT_H
#define GASPIPE_TOOLS_REPORT_H

#include "base/error.h"
#include "tools/options.h"

/*
 * Reads the files that the options name, one after the other as one story, and
 * writes the report to standard output. -1 with ERROR_INPUT when a file cannot
 * be read or is no slogfile (or, if strict, has a bad line), ERROR_SYSTEM when
 * the output cannot be written.
 */
int report_run(const struct options *options, struct error *error);

#endif
