/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_ACTIVE_CRANK_H
#define GASPIPE_SUPERVISOR_SCHEDULE_ACTIVE_CRANK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/stamp.h"
#include "kernel/kernel.h"
#include "proto/vat_message.h"
#include "supervisor/schedule/delivery_route.h"
#include "supervisor/schedule/log/delivery_log.h"
#include "supervisor/schedule/vat_registrar.h"

/*
 * The crank under way: takes it from the kernel, sends its deliveries to the vat's worker,
 * has the kernel perform the worker's syscalls, ends or drops it, and logs all of that.
 * Functions that return int return -1 with the error, after which nothing more may be done
 * with the crank.
 */
struct active_crank {
    /* Set by the owner; pointers are borrowed. */
    struct kernel *kernel;
    const struct vat_registrar *registrar;
    struct delivery_route route;
    const char *fingerprint; /* of the counter of instructions; NULL: none counts */
    bool quiet;              /* what the kernel says on the console is not shown */

    struct delivery_log log;
    bool delivering;                 /* a delivery is under way */
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
 * Takes the next crank. With KERNEL_ROUTED it has ended; with KERNEL_DELIVERY the caller goes on
 * with active_crank_deliver(&step->delivery).
 */
int active_crank_next(struct active_crank *crank, struct kernel_step *step, struct error *error);

/* Makes a delivery. Events of it, up to its end, may come before this returns. */
int active_crank_deliver(struct active_crank *crank, const struct kernel_delivery *delivery,
                         struct error *error);

/* ---- what the worker does in the delivery ---- */

/* An error stays until active_crank_check(), which the caller calls next. */
void active_crank_sent(struct active_crank *crank, struct stamp sent);
void active_crank_said(struct active_crank *crank, const struct vat_console *console,
                       struct stamp come);

/* Performs a syscall and answers it, or condemns the vat, which ends the delivery. */
void active_crank_asked(struct active_crank *crank, const struct vat_syscall *syscall,
                        struct stamp come);

int active_crank_check(const struct active_crank *crank, struct error *error);

/* ---- how it ends ---- */

/*
 * Ends the delivery. `snapshot_due`: the caller will write a snapshot after it. With
 * ended->again the crank goes on with active_crank_deliver(&ended->delivery); otherwise the
 * crank has ended, and the workers that must stop are stopped. The report is valid until the
 * next delivery.
 */
int active_crank_end_delivery(struct active_crank *crank, const struct delivery_end *end,
                              bool snapshot_due, struct kernel_delivery_end *ended,
                              struct delivery_report *report, struct error *error);

/* Drops the crank after a host failure, the `tries`th, and stops its vat's worker. */
int active_crank_drop(struct active_crank *crank, const char *reason, unsigned tries,
                      struct error *error);

/* Drops the crank for good: nothing more is logged. */
void active_crank_close(struct active_crank *crank);

#endif
