/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_PROFILE_COST_RENDER_H
#define GASPIPE_TOOLS_COMMAND_PROFILE_COST_RENDER_H

#include "base/buf.h"
#include "tools/command/profile/cost_groups.h"

/* Sums for people, and as JSON lines. They append to `out`, whose failure the caller looks at. */

/* The first `most` groups, with a heading and, where there are more, a line that says so. */
void cost_render_text(struct buf *out, const struct cost_groups *groups, size_t most);

void cost_render_json(struct buf *out, const struct cost_groups *groups, size_t most);

#endif
