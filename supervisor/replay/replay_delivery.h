/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_REPLAY_DELIVERY_H
#define GASPIPE_SUPERVISOR_REPLAY_REPLAY_DELIVERY_H

#include "supervisor/replay/replay_vat.h"

/*
 * Delivers once more what was recorded, to a worker that is started where none runs. A
 * difference is no failure: it is in the vat's result. -1 when the system failed or the
 * source is bad.
 */
int replay_delivery(struct replay_vat *vat, const struct source_event *event, struct error *error);

#endif
