/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OUTPUT_EXPLAIN_RUNS_H
#define GASPIPE_TOOLS_OUTPUT_EXPLAIN_RUNS_H

#include "tools/input/runs.h"

/*
 * Says on stderr, where there are several, which and what becomes of them: "are added up".
 * `input` is the name of what was read, or NULL.
 */
void explain_runs(const struct runs *runs, const char *input, const char *what);

#endif
