/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_REPLAY_BUNDLE_H
#define GASPIPE_SUPERVISOR_REPLAY_REPLAY_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json/scan.h"

/* Returns true if a bundle is complete: JSON with a moduleFormat and, for endoZipBase64, an archive
 * whose compartment-map.json and modules have the SHA-512 given for them. False with the reason in
 * a few words. Bundles of other formats or without hashes are accepted. */
bool bundle_check(struct scan_span bundle, char *why, size_t size);

/* The bundle of a replayed vat, through upgrades. SwingSet's slogfiles have the ID of the bundle of
 * an upgrade, and gaspipe's its text in a create-vat line. */
struct replay_bundle {
    struct buf json;    /* terminated and followed by SCAN_PADDING bytes; empty if it has none */
    struct buf upgrade; /* the ID of the bundle that the vat is upgraded to; empty: to none */
    struct buf before;  /* the one before the upgrade, while that may fail */
};

/* Its JSON is copied. -1 with ERROR_SYSTEM; so the next ones. */
int replay_bundle_set(struct replay_bundle *bundle, struct scan_span json, struct error *error);

/* The vat's next startVat is for the bundle of this ID. */
int replay_bundle_note_upgrade(struct replay_bundle *bundle, struct scan_span id,
                               struct error *error);

/* The bundle of that upgrade, which is begun. */
int replay_bundle_upgrade(struct replay_bundle *bundle, struct scan_span json, struct error *error);

/* Returns true if an upgrade to another bundle than the vat's was noted. */
bool replay_bundle_is_outdated(const struct replay_bundle *bundle);

/* After a delivery: if it was the new bundle's first one and failed, the old one is back. */
void replay_bundle_settle(struct replay_bundle *bundle, bool well);

void replay_bundle_free(struct replay_bundle *bundle);

struct bundle_file;

/* Bundles that a source names and does not hold. All zeros: none. */
struct replay_bundles {
    struct bundle_file *files; /* owned */
    size_t count, capacity;
};

/* Reads the values of --bundle: FILE, VAT=FILE, or a directory, whose other files are ignored. -1
 * as contract_file_read(). replay_bundles_free() in any case. */
int replay_bundles_read(struct replay_bundles *bundles, char *const *values, size_t count,
                        struct error *error);

/* The bundle of this ID, "b1-HASH" or "b0-HASH"; borrowed. NULL if not found. */
const struct buf *replay_bundles_find(const struct replay_bundles *bundles, struct scan_span id);

/* The one that was given for the vat, by its ID or name; likewise. */
const struct buf *replay_bundles_find_vat(const struct replay_bundles *bundles, const char *id,
                                          const char *name);

void replay_bundles_free(struct replay_bundles *bundles);

#endif
