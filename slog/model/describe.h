/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_MODEL_DESCRIBE_H
#define GASPIPE_SLOG_MODEL_DESCRIBE_H

#include "base/buf.h"
#include "base/json/scan.h"

/*
 * Short words for deliveries and syscalls.
 *
 * What comes from a contract may hold anything: the words are valid UTF-8
 * without control characters, each of which has become U+FFFD, so that they
 * can go to a terminal.
 */

/* The kind: the string that comes first in a VatDeliveryObject or VatSyscallObject. */
struct scan_span describe_kind(struct scan_span object);

/*
 * Appends `(target).method -> result` for a message, `notify p+1,!p+2` (a `!`
 * before each that is rejected), else the kind.
 */
void describe_delivery(struct scan_span vd, struct buf *text);

/*
 * Appends `(target).method -> result` for a send, `D(device).method`,
 * `subscribe(p)`, `resolve p,!p`, `dropImports(o,…)` and the two retire
 * syscalls likewise, else the kind.
 */
void describe_syscall(struct scan_span vsc, struct buf *text);

/*
 * Appends the method of a message, in either encoding of its body; nothing
 * for a call of the target itself, `?` when it cannot be read.
 */
void describe_method(struct scan_span message, struct buf *text);

/* The same of a VatDeliveryObject; nothing when it is no message. */
void describe_delivered_method(struct scan_span vd, struct buf *text);

/* The same from a body that has been read from its JSON string already. */
void describe_method_in_body(const char *body, size_t length, struct buf *text);

/*
 * What a VatDeliveryObject, a VatSyscallObject or its answer says, as text of the line: the body of
 * a message or send, where its arguments are; of others all that stands behind the kind.
 */
struct scan_span describe_words(struct scan_span object);

/* Appends a string (as scan_string() gives it) made fit for a terminal. */
void describe_string(struct scan_span string, struct buf *text);

#endif
