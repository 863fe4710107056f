/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_MESSAGE_H
#define GASPIPE_SLOG_MODEL_MESSAGE_H

#include "base/json/scan.h"
#include "slog/model/model.h"

/* Tells which send caused which delivery, by what the kernel says of both. */

/*
 * The message of a `send` (the kernel's syscall object, ksc) or of a `message`
 * (its delivery object, kd). None when the object is of another kind or no object.
 */
struct model_message message_sent(struct scan_span ksc);
struct model_message message_delivered(struct scan_span kd);

/* A growing list of digests, each of a promise of the kernel's; all zeros is empty. */
struct promises {
    uint64_t *at; /* owned */
    size_t count, capacity;
};

/*
 * Appends the promises that a `resolve` settles (ksc), or that a `notify` tells of
 * (kd); none of another object. -1 when memory ran out.
 */
int message_resolved(struct scan_span ksc, struct promises *promises, struct error *error);
int message_notified(struct scan_span kd, struct promises *promises, struct error *error);

#endif
