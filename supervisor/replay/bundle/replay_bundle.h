/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_BUNDLE_REPLAY_BUNDLE_H
#define GASPIPE_SUPERVISOR_REPLAY_BUNDLE_REPLAY_BUNDLE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/json/scan.h"

/*
 * The bundle of a vat that is replayed, through upgrades. SwingSet's slogfiles tell the ID of
 * the one that a vat is upgraded to, and ours have it in a create-vat line.
 */
struct replay_bundle {
    struct buf json;    /* terminated, SCAN_PADDING bytes behind it; empty: there is none */
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

/* Whether an upgrade was noted, to another bundle than the vat has. */
bool replay_bundle_is_outdated(const struct replay_bundle *bundle);

/* After a delivery: if it was the new bundle's first one and failed, the old one is back. */
void replay_bundle_settle(struct replay_bundle *bundle, bool well);

void replay_bundle_free(struct replay_bundle *bundle);

#endif
