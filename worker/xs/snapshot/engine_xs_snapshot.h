/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_SNAPSHOT_ENGINE_XS_SNAPSHOT_H
#define GASPIPE_WORKER_XS_SNAPSHOT_ENGINE_XS_SNAPSHOT_H

#include <stddef.h>

#include <xsnap.h>

#include "base/error.h"

/*
 * XS's heap, written and read in the form of npm @agoric/xsnap 0.15.0: its
 * signature "xsnap 1", and host functions as their place in its table of
 * callbacks. A place is a path, or "@N" for the open descriptor N, behind which
 * ":WORDS" may stand for the reader's eyes. The descriptor stays open; what is
 * written goes to its end.
 */

/* The table, in xsnap's order; a snapshot knows functions by their number in it. */
enum { XS_SNAPSHOT_CALLBACKS = 18 };

/* 0 with the snapshot's size in bytes, or -1 with ERROR_SYSTEM. */
int xs_snapshot_write(xsMachine *machine, xsCallback callbacks[XS_SNAPSHOT_CALLBACKS],
                      const char *place, size_t *size, struct error *error);

/*
 * A machine with that context, as it was written; the caller's. NULL with
 * ERROR_SYSTEM when the snapshot cannot be read or is none of this version. XS
 * believes what stands inside: a snapshot is to come from whom one trusts.
 */
xsMachine *xs_snapshot_read(xsCallback callbacks[XS_SNAPSHOT_CALLBACKS], const char *place,
                            void *context, struct error *error);

#endif
