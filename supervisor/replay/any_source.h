/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_ANY_SOURCE_H
#define GASPIPE_SUPERVISOR_REPLAY_ANY_SOURCE_H

#include "supervisor/replay/replay_options.h"
#include "supervisor/replay/source/source.h"

/* Whether the command line names a swing-store. */
bool any_source_is_swing_store(const struct replay_options *options);

/* The source that the command line names, whatever kind it is. NULL as for each kind. */
struct replay_source *any_source_open(const struct replay_options *options, struct error *error);

#endif
