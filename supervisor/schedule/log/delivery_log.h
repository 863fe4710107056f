/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_LOG_DELIVERY_LOG_H
#define GASPIPE_SUPERVISOR_SCHEDULE_LOG_DELIVERY_LOG_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stamp.h"
#include "kernel/kernel.h"
#include "proto/vat_message.h"
#include "slog/write/writer.h"
#include "supervisor/schedule/log/delivery_report.h"
#include "supervisor/schedule/log/report_builder.h"

/*
 * The log of cranks and their deliveries: writes the slog's lines, where there is a slog,
 * and builds each delivery's report. Knows nothing of worker processes.
 *
 * Errors stick: after the first one the log does nothing, and delivery_log_check() and
 * delivery_log_end() return it. So callers can log a whole step and check once.
 */
struct delivery_log {
    struct slog_writer *slog; /* borrowed; NULL: none is written */
    struct error error;       /* the first; ERROR_NONE: none */

    int64_t crank_num;
    struct stamp crank_started;
    struct slog_delivery common; /* of the delivery's lines */
    struct report_builder report;
    int64_t syscall_num;
    struct buf dr;      /* the value of that name in a deliver-result line */
    struct buf refused; /* the syscall that the kernel refused, as the vat has it; empty: none */
    struct console_bound {
        size_t shown;         /* bytes of the arguments, as JSON */
        int64_t calls, bytes; /* that are left out */
    } console;                /* of the delivery */
};

void delivery_log_init(struct delivery_log *log, struct slog_writer *slog);
void delivery_log_free(struct delivery_log *log);

/* -1 with the first error since delivery_log_init(). */
int delivery_log_check(const struct delivery_log *log, struct error *error);

/* What the log is about has failed: as an error of the log's own. */
void delivery_log_fail(struct delivery_log *log, const struct error *error);

/* ---- a crank: as the kernel's listener reports it ---- */

/* The next crank starts at that moment; its first line follows in crank_started(). */
void delivery_log_start_crank(struct delivery_log *log, struct stamp started);

void delivery_log_crank_started(struct delivery_log *log, const struct kernel_crank *crank);
void delivery_log_crank_ended(struct delivery_log *log, const struct kernel_crank_end *end);
void delivery_log_clist_changed(struct delivery_log *log, const struct kernel_clist_change *change);
void delivery_log_vat_terminated(struct delivery_log *log,
                                 const struct kernel_termination *termination);

/* ---- a delivery ---- */

/* The name and the kernel's values are borrowed until the delivery ends. */
void delivery_log_begin(struct delivery_log *log, const struct kernel_delivery *delivery,
                        const char *vat_name);

/* The delivery was sent to the worker. */
void delivery_log_sent(struct delivery_log *log, struct stamp sent);

/* The kernel has translated a syscall that came at `come`, and will perform it next. */
void delivery_log_syscall(struct delivery_log *log, const struct vat_syscall *syscall,
                          const struct kernel_syscall_texts *texts, struct stamp come);

/* The syscall was performed and answered. */
void delivery_log_answered(struct delivery_log *log, const struct vat_syscall *syscall,
                           const struct kernel_syscall_texts *texts, struct stamp come,
                           struct stamp answered);

/* The kernel refused a syscall, which ends the delivery; `vsc` as the vat has it. */
void delivery_log_refused(struct delivery_log *log, const char *vsc);

/*
 * The vat called the console. False: the delivery has printed DELIVERY_LOG_CONSOLE_MAX bytes, and
 * the call's arguments are left out. The end of the delivery says how many were.
 */
enum { DELIVERY_LOG_CONSOLE_MAX = 1 << 20 };
bool delivery_log_console(struct delivery_log *log, const struct vat_console *console,
                          struct stamp come);

/* A host failure interrupted the delivery, which is dropped; the `tries`th time. */
void delivery_log_host_failure(struct delivery_log *log, const char *problem, unsigned tries);

/* The delivery has ended. Fills the report, which is valid until the next begin. */
int delivery_log_end(struct delivery_log *log, const struct delivery_end *end,
                     struct delivery_report *report, struct error *error);

#endif
