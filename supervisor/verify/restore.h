/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VERIFY_RESTORE_H
#define GASPIPE_SUPERVISOR_VERIFY_RESTORE_H

#include <stdbool.h>
#include <uv.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "store/store.h"
#include "supervisor/process/confinement.h"
#include "supervisor/process/launcher.h"
#include "supervisor/runtime/vat_runtime.h"

/* Starts a worker from a vat's last snapshot, to see that one does. All zeros: not open. */
struct restore {
    bool open;
    uv_loop_t loop;
    struct confinement confinement;
    struct launcher launcher;
    struct vat_runtimes runtimes;
};

/* -1 with ERROR_SYSTEM: no worker can be started at all. */
int restore_open(struct restore *restore, struct error *error);
void restore_close(struct restore *restore);

/*
 * -1 with ERROR_DELIVERY if the vat cannot be restored, and why; with ERROR_SYSTEM if no worker can
 * be started at all. *found: it has a snapshot. Within a transaction.
 */
int restore_vat(struct restore *restore, struct store *store, const struct kernel_vat *vat,
                bool *found, struct error *error);

#endif
