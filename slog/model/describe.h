/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_DESCRIBE_H
#define GASPIPE_SLOG_MODEL_DESCRIBE_H

#include "base/buf.h"
#include "base/json/scan.h"
#include "slog/read/names.h"

/*
 * Short descriptions of deliveries and syscalls.
 *
 * A contract may send any bytes. Descriptions are valid UTF-8, with control characters replaced by
 * U+FFFD, so that they are safe for a terminal.
 */

/* The kind: the first string of a VatDeliveryObject or VatSyscallObject. */
struct scan_span describe_kind(struct scan_span object);

/*
 * Appends `(target).method -> result` for a message, `notify p+1,!p+2` (`!` marks a rejected
 * promise), else the kind.
 */
void describe_delivery(struct scan_span vd, struct buf *text);

/*
 * Appends `(target).method -> result` for a send, `D(device).method`,
 * `subscribe(p)`, `resolve p,!p`, `dropImports(o,…)` and the two retire
 * syscalls likewise, else the kind.
 */
void describe_syscall(struct scan_span vsc, struct buf *text);

/*
 * Appends the method of a message, in either encoding of its body: nothing for a call of the
 * target itself, `?` if it cannot be read.
 */
void describe_method(struct scan_span message, struct buf *text);

/* The same of a VatDeliveryObject; nothing unless it is a message. */
void describe_delivered_method(struct scan_span vd, struct buf *text);

/* The same of a body that was already decoded from its JSON string. */
void describe_method_in_body(const char *body, size_t length, struct buf *text);

/*
 * The text of a VatDeliveryObject, a VatSyscallObject or its answer, borrowed from the line: the
 * body of a message or send, which has its arguments; of others, everything after the kind.
 */
struct scan_span describe_words(struct scan_span object);

/* Appends a string, as scan_string() gives it, made safe for a terminal. */
void describe_string(struct scan_span string, struct buf *text);

/* The number of a name as described by describe_string(); NAMES_NONE when out of memory. */
uint32_t describe_intern(struct names *names, struct scan_span string);

#endif
