/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_SNAPSHOT_H
#define GASPIPE_WORKER_XS_XS_SNAPSHOT_H

#include <stddef.h>

#include "base/error.h"

/*
 * Writes and reads XS's heap in the format of npm @agoric/xsnap 0.15.0: signature "xsnap 1",
 * and host functions as indexes of its table of callbacks. Places are as in
 * engine_open_place(); output goes to the end of an open descriptor.
 */

/* The table, in xsnap's order. */
enum { XS_SNAPSHOT_CALLBACKS = 18 };

struct xsMachineRecord; /* xsMachine */
typedef void (*xs_snapshot_callback)(struct xsMachineRecord *machine);

/* 0 with the snapshot's size in bytes, or -1 with ERROR_SYSTEM. */
int xs_snapshot_write(struct xsMachineRecord *machine,
                      xs_snapshot_callback callbacks[XS_SNAPSHOT_CALLBACKS], const char *place,
                      size_t *size, struct error *error);

/* Reads a machine with that context; the caller's. NULL with ERROR_SYSTEM if the snapshot cannot
 * be read or has another version. XS trusts its contents, so its source must be trusted. */
struct xsMachineRecord *xs_snapshot_read(xs_snapshot_callback callbacks[XS_SNAPSHOT_CALLBACKS],
                                         const char *place, void *context, struct error *error);

#endif
