/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_REPLAY_PROGRESS_H
#define GASPIPE_SUPERVISOR_REPLAY_REPLAY_PROGRESS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "supervisor/replay/replay_options.h"

/* Shows on a terminal how far a replay is. A thread counts the source's deliveries meanwhile, for
 * the total and the time that is left. */
struct replay_progress;

/* NULL: nothing is shown, because stderr is no terminal or another process shows it. The options
 * are borrowed. */
struct replay_progress *replay_progress_new(const struct replay_options *options);

/* Call for each delivery of the selected vats, also those of other parts. NULL is allowed. */
void replay_progress_pass(struct replay_progress *progress, size_t vats);

/* Counts the deliveries that a replay of these options passes, until `ends`; -1: not known. */
int64_t replay_progress_count(const struct replay_options *options, const atomic_bool *ends);

/* Appends what is shown: of `total` deliveries (0: not known), `passed` took `seconds`. */
void replay_progress_describe(struct buf *text, int64_t passed, int64_t total, size_t vats,
                              double seconds);

/* Ends the counting. NULL is allowed. */
void replay_progress_free(struct replay_progress *progress);

#endif
