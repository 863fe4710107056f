/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_UPGRADE_H
#define GASPIPE_SUPERVISOR_REPLAY_UPGRADE_H

#include "base/error.h"
#include "base/json/scan.h"
#include "supervisor/replay/replay_vat.h"

/*
 * A vat that goes on under another bundle. SwingSet's slogfiles tell its ID only; it is
 * looked for among those that were given. Ours have a create-vat line with it.
 */

/* The crank of the upgrade to the bundle of this ID begins. -1 with ERROR_SYSTEM. */
int replay_upgrade_note(struct replay_vat *vat, struct scan_span bundle_id, struct error *error);

/*
 * Before a fresh worker's first delivery: its bundle is the new one, if there is one. Where
 * that is not to be had the vat is skipped. -1 with ERROR_SYSTEM.
 */
int replay_upgrade_begin(struct replay_vat *vat, struct error *error);

/* After a delivery: if it was the new bundle's first and failed, the old one is back. */
void replay_upgrade_end(struct replay_vat *vat, bool well);

#endif
