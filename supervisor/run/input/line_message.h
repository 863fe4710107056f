/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_INPUT_LINE_MESSAGE_H
#define GASPIPE_SUPERVISOR_RUN_INPUT_LINE_MESSAGE_H

#include "base/error.h"
#include "kernel/kernel.h"
#include "supervisor/run/input/delivery_line.h"
#include "supervisor/run/line_results.h"

/*
 * Queues the message of a short or full line into the kernel. The names in the line are
 * looked up in the results and the kernel; one that is unknown is ERROR_INPUT. `result` is
 * as in kernel_queue_message().
 */
int line_message_queue(struct line_results *results, struct kernel *kernel,
                       const struct delivery_line *line, char result[KERNEL_REF_SIZE],
                       struct error *error);

#endif
