/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_LOG_REPORT_BUILDER_H
#define GASPIPE_SUPERVISOR_SCHEDULE_LOG_REPORT_BUILDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "kernel/kernel.h"
#include "proto/vat_message.h"
#include "supervisor/schedule/log/delivery_report.h"
#include "supervisor/schedule/log/delivery_times.h"

/*
 * Gathers what a delivery's report says, while the delivery is under way. One builder
 * serves one delivery after the other. All zeros is empty. Functions return -1 when memory
 * ran out.
 */
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

/* Starts a delivery. The name and the kernel's values are borrowed until it ends. */
int report_builder_begin(struct report_builder *builder, const struct kernel_delivery *delivery,
                         const char *vat_name, struct error *error);
void report_builder_free(struct report_builder *builder);

/* The syscall may resolve the promise for the message's result. Takes a reference to that. */
void report_builder_take_syscall(struct report_builder *builder, const struct vat_syscall *syscall);

/* Fills the report but for the place and what the kernel decides. Valid until the next begin. */
int report_builder_finish(struct report_builder *builder, const struct delivery_end *end,
                          struct delivery_report *report, struct error *error);

#endif
