/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_BUNDLE_REPLAY_BUNDLES_H
#define GASPIPE_SUPERVISOR_REPLAY_BUNDLE_REPLAY_BUNDLES_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json/scan.h"

struct bundle_file;

/* Bundles that a source names and does not hold. All zeros: none. */
struct replay_bundles {
    struct bundle_file *files; /* owned */
    size_t count, capacity;
};

/*
 * Reads what --bundle gives, each FILE, VAT=FILE, or a folder, whose bundles are taken and
 * whose other files are not. -1 as contract_file_read(). The caller calls
 * replay_bundles_free() in any case.
 */
int replay_bundles_read(struct replay_bundles *bundles, char *const *values, size_t count,
                        struct error *error);

/* The one of this ID, "b1-HASH" or "b0-HASH"; borrowed. NULL: there is none. */
const struct buf *replay_bundles_find(const struct replay_bundles *bundles, struct scan_span id);

/* The one that was given for the vat, by its ID or name; likewise. */
const struct buf *replay_bundles_find_vat(const struct replay_bundles *bundles, const char *id,
                                          const char *name);

void replay_bundles_free(struct replay_bundles *bundles);

#endif
