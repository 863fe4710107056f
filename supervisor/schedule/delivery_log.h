/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_DELIVERY_LOG_H
#define GASPIPE_SUPERVISOR_DELIVERY_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/stamp.h"
#include "kernel/kernel.h"
#include "proto/meter.h"
#include "proto/vat_message.h"
#include "slog/model/spans.h"
#include "slog/write/writer.h"
#include "supervisor/schedule/report.h"

/* When a request had come, and when it was answered. */
struct delivery_log_request {
    struct stamp come, answered;
};

/* Room that splitting a delivery's time needs, kept from one to the next. */
struct delivery_log_times {
    struct model_event *events;
    int64_t *stamps;
    size_t event_capacity, stamp_capacity;
    struct spans spans;
};

/*
 * What is told of one delivery with all that it causes: the lines in the slog,
 * the times, the report. Knows nothing of processes, and of the kernel only what
 * it hands out.
 */
struct delivery_log {
    struct slog_writer *slog; /* NULL: none is written */

    char vat_id_text[24];
    const char *vat_name;            /* borrowed */
    struct kernel_delivery delivery; /* its texts are the kernel's */
    struct slog_delivery common;

    struct buf vd;                        /* with room behind it for the scanner */
    char result_promise[KERNEL_REF_SIZE]; /* of a message, as the vat knows it; "": none */
    char kernel_promise[KERNEL_REF_SIZE]; /* the same, as the kernel does */
    struct buf result; /* the capdata that the vat resolved it to; empty: it did not */
    bool rejected;     /* … as a rejection */
    struct buf text, description, method;

    struct stamp sent;
    int64_t syscall_num;
    struct delivery_log_request *requests;
    size_t request_count, request_capacity;
    struct delivery_log_times times;
};

/* The slog is borrowed. */
void delivery_log_init(struct delivery_log *log, struct slog_writer *slog);
void delivery_log_free(struct delivery_log *log);

/* Begins with a delivery; the name and the kernel's texts are borrowed until it ends. */
int delivery_log_begin(struct delivery_log *log, const struct kernel_delivery *delivery,
                       const char *vat_name, struct error *error);

/* The delivery was sent at that moment. */
int delivery_log_sent(struct delivery_log *log, struct stamp sent, struct error *error);

/* The syscall that had come at `come` is understood; before it is done. */
int delivery_log_understood(struct delivery_log *log, const struct vat_syscall *syscall,
                            const struct kernel_syscall_texts *texts, struct stamp come,
                            struct error *error);

/* It was done and answered. */
int delivery_log_answered(struct delivery_log *log, const struct vat_syscall *syscall,
                          const struct kernel_syscall_texts *texts, struct stamp come,
                          struct stamp answered, struct error *error);

/* The vat said something, at `come`. */
int delivery_log_said(struct delivery_log *log, const struct vat_console *console,
                      struct stamp come, struct error *error);

/* How a delivery ended. */
struct delivery_log_end {
    struct stamp returned;
    const char *problem;       /* NULL: it went well */
    const char *value;         /* what came with "ok", JSON; NULL: null */
    enum error_kind blame;     /* of the problem */
    const struct meter *meter; /* NULL: the worker died */
};

/*
 * Writes the delivery's last line, and fills the report, which is good until the
 * next begin.
 */
int delivery_log_finish(struct delivery_log *log, const struct delivery_log_end *end,
                        struct delivery_report *report, struct error *error);

#endif
