/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_SOURCE_SLOG_EVENT_H
#define GASPIPE_SUPERVISOR_REPLAY_SOURCE_SLOG_EVENT_H

#include "supervisor/replay/source/source.h"

/* What one line of a slogfile says of a vat's history. */

enum slog_event_part {
    SLOG_EVENT_WHOLE,   /* an event; of SOURCE_DELIVERY the beginning: `json` is the VatDelivery */
    SLOG_EVENT_SYSCALL, /* the next ones continue it: `json` is the VatSyscall */
    SLOG_EVENT_ANSWER,  /* `json` is what the worker was answered */
    SLOG_EVENT_RESULT,  /* `result` */
    SLOG_EVENT_TROUBLE, /* the host could not finish the delivery, of which nothing stays */
};

struct slog_event {
    enum slog_event_part part;
    struct source_event event; /* of the other parts the vat only */
    struct scan_span json;
    struct recorded_result result;
};

/*
 * 1 when the line is of interest, 0 when not; -1 when it is not what it should be, and *why
 * says in a few words (static text). SCAN_PADDING bytes behind it must be readable.
 */
int slog_event_read(struct slog_event *event, struct scan_span line, const char **why);

#endif
