/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_SOURCE_KEPT_BUNDLE_H
#define GASPIPE_SUPERVISOR_REPLAY_SOURCE_KEPT_BUNDLE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json/scan.h"

/* Appends the JSON of a bundle as swing-store keeps it: of a "b1-" bundle the archive, of others
 * the JSON itself. -1 with ERROR_SYSTEM. */
int kept_bundle_put(struct scan_span id, const struct buf *kept, struct buf *bundle,
                    struct error *error);

/* The same out of a file that swing-store has exported, bundle.ID, beside the file of that path.
 * *found is false when it is not there. -1 with ERROR_INPUT or ERROR_SYSTEM. */
int kept_bundle_read(const char *path, struct scan_span id, struct buf *bundle, bool *found,
                     struct error *error);

#endif
