/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_WAREHOUSE_ROOM_H
#define GASPIPE_SUPERVISOR_VATS_WAREHOUSE_ROOM_H

#include <stddef.h>
#include <stdint.h>

#include "supervisor/vats/vat.h"

/*
 * Which vats have a worker, where there may be fewer workers than vats. Pure. `vats` may have
 * NULLs; a `limit` of 0 is none.
 */

/* The vat that has waited longest for a worker, if one may be started for it; else NULL. */
struct vat *warehouse_room_to_start(struct vat *const *vats, size_t count, uint64_t limit);

/*
 * The vat whose worker is to be put away, so that one that waits gets one: of those that wait
 * for a delivery, the one that was used longest ago. NULL: none has to, or none can.
 */
struct vat *warehouse_room_to_spare(struct vat *const *vats, size_t count, uint64_t limit);

#endif
