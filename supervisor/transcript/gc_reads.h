/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRANSCRIPT_GC_READS_H
#define GASPIPE_SUPERVISOR_TRANSCRIPT_GC_READS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/json/scan.h"

/*
 * Liveslots reads what a virtual collection is, ["vatstoreGet","vc.N.|schemata"] or |label,
 * when it makes an object for a collection that has none in memory, which depends on when
 * garbage was collected (agoric-sdk issues 6360 and 6784). What it reads never changes.
 */

/* Whether the VatSyscallObject is such a read. */
bool gc_reads_is_one(struct scan_span syscall);

/* Keeps what such a read was answered, ["ok",VALUE], in a JSON object; others it passes over. */
void gc_reads_remember(json_t *known, struct scan_span syscall, struct scan_span answer);

/* What the read was answered before; borrowed. No span: it was not made before. */
struct scan_span gc_reads_recall(const json_t *known, struct scan_span syscall);

#endif
