/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_ACTIVE_CRANK_H
#define GASPIPE_SUPERVISOR_SCHEDULE_ACTIVE_CRANK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/stamp.h"
#include "kernel/kernel.h"
#include "proto/vat_message.h"
#include "supervisor/schedule/log/delivery_log.h"
#include "supervisor/schedule/speculation.h"
#include "supervisor/vats/warehouse.h"

/*
 * The crank in progress: takes it from the kernel, sends its deliveries to the vat's worker, has
 * the kernel perform the worker's syscalls, ends or drops it, and logs all of that. Functions that
 * return int return -1 with the error; the crank may then only be closed and freed.
 */
struct active_crank {
    /* Set by the owner; pointers are borrowed. */
    struct kernel *kernel;
    struct warehouse *warehouse;
    struct speculation *speculation; /* NULL: one job */
    const char *fingerprint;         /* of the counter of instructions; NULL: none counts */
    bool counted;                    /* workers run under QEMU's counter */
    bool metered;                    /* workers have the meter compiled in */
    bool quiet;                      /* hides what the kernel prints on the console */

    struct delivery_log log;
    bool delivering;                 /* a delivery is in progress */
    bool before_snapshot;            /* it is the bringOutYourDead before a snapshot */
    bool vat_terminated;             /* during the delivery, with it */
    struct kernel_delivery delivery; /* the last one */

    const struct vat_syscall *syscall; /* that the kernel is performing, */
    struct stamp syscall_come;         /* and when it came */
};

/* All else is zero. The slog is borrowed; NULL: none is written. */
void active_crank_init(struct active_crank *crank, struct slog_writer *slog);
void active_crank_free(struct active_crank *crank);

/* Logs what the kernel reports. For kernel_open(); the crank must stay where it is. */
struct kernel_listener active_crank_kernel_listener(struct active_crank *crank);

/*
 * Takes the next crank. With KERNEL_ROUTED it has ended; with KERNEL_DELIVERY the caller continues
 * with active_crank_deliver(&step->delivery).
 */
int active_crank_next(struct active_crank *crank, struct kernel_step *step, struct error *error);

/*
 * After active_crank_next() failed by a damaged record of a vat: undoes the crank, and the next one
 * puts the vat into quarantine. -1 if that is no way out.
 */
int active_crank_give_up(struct active_crank *crank, const struct error *damage);

/* Sends a delivery to its worker. Its events, up to its end, may come before this returns. */
int active_crank_deliver(struct active_crank *crank, const struct kernel_delivery *delivery,
                         struct error *error);

/* ---- what the kernel knows of its vats, for the warehouse ---- */

/*
 * Registers a vat, or what has changed about it. ERROR_INPUT for a vat with a limit on
 * instructions or block cost if nothing counts them.
 */
int active_crank_register(const struct active_crank *crank, const struct kernel_vat *vat,
                          struct error *error);

/* The same with the kernel's description of that vat; does nothing for a terminated vat. */
int active_crank_update_vat(const struct active_crank *crank, int64_t vat, struct error *error);

/* ---- what the worker does in the delivery ---- */

/* An error stays until active_crank_check(), which the caller calls next. */
void active_crank_sent(struct active_crank *crank, struct stamp sent);
void active_crank_console(struct active_crank *crank, const struct vat_console *console,
                          struct stamp come);

/* Performs a syscall and answers it, or aborts the delivery. */
void active_crank_syscall(struct active_crank *crank, const struct vat_syscall *syscall,
                          struct stamp come);

int active_crank_check(const struct active_crank *crank, struct error *error);

/* ---- how it ends ---- */

/*
 * Ends the delivery. `snapshot_due`: the caller will write a snapshot after it. With
 * ended->again the crank continues with active_crank_deliver(&ended->delivery); otherwise the
 * crank has ended, and the workers that must stop are stopped. The report is valid until the
 * next delivery.
 */
int active_crank_end_delivery(struct active_crank *crank, const struct delivery_end *end,
                              bool snapshot_due, struct kernel_delivery_end *ended,
                              struct delivery_report *report, struct error *error);

/* Drops the crank after a host failure, the `tries`th, and stops its vat's worker. */
int active_crank_drop(struct active_crank *crank, const char *reason, unsigned tries,
                      struct error *error);

/* Drops the crank, and logs nothing more. */
void active_crank_close(struct active_crank *crank);

#endif
