/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_CLIENT_TIMES_H
#define GASPIPE_SLOG_MODEL_CLIENT_TIMES_H

#include <stdbool.h>

#include "slog/model/outcome.h"
#include "slog/model/spans.h"

/*
 * A client of the worker may note when each frame left it and came to it (docs/swingset.md).
 * With these the pipe's time ends where the client's, and not its kernel's line, begins; what
 * the kernel does between its lines and the frames is the kernel's.
 *
 * Where they fit together with the worker's, one for one and in order: changes *outcome's
 * monotimes and the events' moments to those of the client, on the clock of the lines, and
 * *moments accordingly. Else changes nothing and returns false.
 */
bool client_times_use(struct outcome *outcome, struct model_event *events, struct moments *moments);

#endif
