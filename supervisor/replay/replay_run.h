/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_REPLAY_RUN_H
#define GASPIPE_SUPERVISOR_REPLAY_REPLAY_RUN_H

#include "supervisor/replay/replay_options.h"
#include "supervisor/replay/replay_result.h"

/* Replaying the vats of a source in this process. */
struct replay_run;

/* NULL when memory ran out. The options are borrowed. */
struct replay_run *replay_run_new(const struct replay_options *options, struct error *error);

/*
 * Opens the source and replays its vats, or those of the options' part. -1 with ERROR_INPUT,
 * ERROR_SYSTEM or ERROR_USAGE (a vat that was asked for is not there).
 */
int replay_run(struct replay_run *run, struct error *error);

/* The results, in the order in which the vats come in the source; borrowed. */
struct replay_result *const *replay_run_results(const struct replay_run *run, size_t *count);

/* The line of the source that was taken last. */
uint64_t replay_run_line(const struct replay_run *run);

/* NULL is allowed. */
void replay_run_free(struct replay_run *run);

#endif
