/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_RUNS_RENDER_H
#define GASPIPE_TOOLS_COMMAND_RUNS_RENDER_H

#include "base/buf.h"
#include "tools/stats/chains.h"

/* A run, its sums, and the way to the delivery that ended last; of a long way, its end. */
void runs_render_text(struct buf *out, const struct chains *chains, const struct chain *chain);
void runs_render_json(struct buf *out, const struct chains *chains, const struct chain *chain);

#endif
