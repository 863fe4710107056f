/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_CRANK_HASH_H
#define GASPIPE_KERNEL_CRANK_HASH_H

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * What a crank did, as a hash. It is SHA-256 over the changes since the crank
 * before, one after the other, in kernel->changes: of the kernel's keys and the
 * vats' stores as store_watch() tells them, and (what 'd') the delivery and (what
 * 'c') each syscall as the vat has it. Each is `what`, then twice a length of 8
 * bytes, little endian, and that many bytes: a key and a value. What was undone is
 * not in it, nor is anything that depends on time, host or counter.
 *
 * The activity hash is SHA-256 over the text of the activity hash before (empty
 * for the first) and the text of the crank hash; it is kept in the key
 * `activityhash`, and changing that is in no hash.
 */

/* Notes each change of the store from now on. */
void crank_hash_watch(struct kernel *kernel);

/* Notes the delivery or a syscall. */
void crank_hash_note(struct kernel *kernel, char what, const char *bytes, size_t length);

/* Fills the hashes of the end, keeps the activity hash, and begins anew. */
int crank_hash_finish(struct kernel *kernel, struct kernel_crank_end *end, struct error *error);

#endif
