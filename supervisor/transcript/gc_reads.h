/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRANSCRIPT_GC_READS_H
#define GASPIPE_SUPERVISOR_TRANSCRIPT_GC_READS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/json/scan.h"

/*
 * Liveslots reads the records of a virtual collection (keys vc.N.*, most of all vc.N.|schemata
 * and vc.N.|label) again when it makes an object for a collection that has none in memory, which
 * depends on when garbage was collected (agoric-sdk issues 6360 and 6784). Such a read can be
 * simulated: its answer follows from what the vat has read and written before.
 */

/* Whether the VatSyscallObject is a vatstoreGet or vatstoreGetNextKey of a collection. */
bool gc_reads_is_one(struct scan_span syscall);

/*
 * Keeps in a JSON object what follows from a syscall and its answer, ["ok",VALUE]: of reads the
 * answer, of writes what a read is answered from now on. Other syscalls are ignored.
 */
void gc_reads_remember(json_t *known, struct scan_span syscall, struct scan_span answer);

/* What the read is answered now; borrowed until the next call. No span: that is not known. */
struct scan_span gc_reads_recall(const json_t *known, struct scan_span syscall);

#endif
