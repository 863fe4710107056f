/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_BUNDLES_H
#define GASPIPE_SUPERVISOR_REPLAY_BUNDLES_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json/scan.h"

struct contract_file;

/* Bundles that a slogfile names and does not hold. All zeros: none. */
struct replay_bundles {
    struct contract_file *files; /* owned */
    size_t count;
};

/*
 * Reads them. -1 as contract_file_read(). The caller calls replay_bundles_free() in any
 * case.
 */
int replay_bundles_read(struct replay_bundles *bundles, char *const *paths, size_t count,
                        struct error *error);

/* The one of this ID, "b1-HASH" or "b0-HASH"; borrowed. NULL: there is none. */
const struct buf *replay_bundles_find(const struct replay_bundles *bundles, struct scan_span id);

void replay_bundles_free(struct replay_bundles *bundles);

#endif
