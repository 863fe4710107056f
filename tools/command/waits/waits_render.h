/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_WAITS_WAITS_RENDER_H
#define GASPIPE_TOOLS_COMMAND_WAITS_WAITS_RENDER_H

#include <stddef.h>

#include "base/buf.h"
#include "tools/command/waits/wait_functions.h"
#include "tools/command/waits/wait_sums.h"

/* Everything borrowed. */
struct waits_report {
    const struct wait_sums *sums;           /* computed */
    const struct wait_functions *functions; /* computed; empty without a profile */
    const struct wait_delivery **handers;   /* all deliveries, which handed on most first */
    const struct wait_delivery **waiters;   /* all, which waited longest first */
    size_t most;                            /* of each to be shown */
};

void waits_render_text(struct buf *out, const struct waits_report *report);
void waits_render_json(struct buf *out, const struct waits_report *report);

#endif
