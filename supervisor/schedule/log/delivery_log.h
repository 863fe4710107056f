/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_LOG_DELIVERY_LOG_H
#define GASPIPE_SUPERVISOR_SCHEDULE_LOG_DELIVERY_LOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stamp.h"
#include "kernel/kernel.h"
#include "proto/vat_message.h"
#include "slog/model/spans.h"
#include "slog/write/writer.h"
#include "supervisor/schedule/log/delivery_report.h"

/* ---- a delivery's times ---- */

/* When a request arrived, and when it was answered. */
struct request_times {
    struct stamp come, answered;
};

/* The moments of one delivery as the supervisor saw them, and scratch memory for the next ones. All
 * zeros is empty. */
struct delivery_times {
    struct stamp sent;
    struct request_times *requests; /* the first ones, owned */
    size_t request_count, request_capacity;
    size_t more;         /* requests after these */
    int64_t more_kernel; /* nanoseconds that they took */

    struct model_event *events;
    int64_t *stamps;
    size_t event_capacity, stamp_capacity;
    struct spans spans;
};

/* As many as a worker has stamps for (worker/channel.h). */
enum { DELIVERY_TIMES_MAX = 32767 };

/* Forgets the moments and keeps the memory. */
void delivery_times_free(struct delivery_times *times);

/* Adds a request. -1 if out of memory. */
int delivery_times_add(struct delivery_times *times, struct stamp come, struct stamp answered,
                       struct error *error);

/*
 * Fills the report's total, pipe, worker and kernel: in nanoseconds if the worker stamps with
 * CLOCK_MONOTONIC, and by CLOCK_REALTIME in microseconds if it does not, like xsnap-worker. pipe
 * and worker are REPORT_NONE if stamps are missing (of requests after DELIVERY_TIMES_MAX), or if
 * the worker's clock is not this host's or was set meanwhile; without any stamps kernel is, too. -1
 * if out of memory.
 */
int delivery_times_fill(struct delivery_times *times, const struct delivery_end *end,
                        struct delivery_report *report, struct error *error);

/* ---- the log ---- */

/* The report of the delivery in progress. All zeros is empty. */
struct report_builder {
    struct kernel_delivery delivery; /* its texts are the kernel's */
    char vat_id[24];
    const char *vat_name; /* borrowed */
    struct buf description, method;
    const char *vat_promise; /* for the message's result, in the vat's reference; NULL: none */
    char kernel_promise[KERNEL_REF_SIZE]; /* the same in the kernel's reference; "": none */
    json_t *result;   /* the capdata that the promise was resolved to, owned; NULL: it was not */
    bool rejected;    /* and that is a rejection */
    struct buf shown; /* the result, for the report */
    struct buf words; /* the error, the same, where the limit is named that was met */
    int64_t syscalls; /* so far */
    struct delivery_times times;
};

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

/* Notes an error of the caller, as one of the log. */
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
