/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MESSAGE_H
#define GASPIPE_SLOG_MESSAGE_H

#include "slog/model.h"
#include "slog/scan.h"

/* Tells which send caused which delivery, by what the kernel says of both. */

/*
 * The message of a `send` (the kernel's syscall object, ksc) or of a `message`
 * (its delivery object, kd). None when the object is of another kind or no object.
 */
struct model_message message_sent(struct scan_span ksc);
struct model_message message_delivered(struct scan_span kd);

#endif
