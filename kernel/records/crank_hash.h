/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_CRANK_HASH_H
#define GASPIPE_KERNEL_RECORDS_CRANK_HASH_H

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * What a crank did, as a hash. It is SHA-256 over its changes, one after the
 * other, in kernel->changes: of the kernel's keys and the vats' stores as
 * store_watch() tells them, and (what 'd') the delivery and (what 'c') each syscall
 * as the vat has it. Each is `what`, then twice a length of 8 bytes, little endian,
 * and that many bytes: a key and a value. What was undone is not in it, nor is
 * anything that depends on time, host or counter; nor are keys that begin with
 * "input.", the caller's, nor the records of vats' limits.
 *
 * The activity hash is SHA-256 over the text of the activity hash before (empty
 * for the first) and the text of the crank hash; it is kept in the key
 * `activityhash`, and changing that is in no hash. What is changed between cranks,
 * by work from outside, has a hash of its own, which goes into the activity hash in
 * the same way: so that it comes out the same when the kernel is closed and opened
 * in between.
 */

/* Notes each change of the store from now on. */
void crank_hash_watch(struct kernel *kernel);

/* Notes the delivery or a syscall. */
void crank_hash_note(struct kernel *kernel, char what, const char *bytes, size_t length);

/* The end of what was asked from outside and came to `result`, which it returns. */
int crank_hash_outside(struct kernel *kernel, int result, struct error *error);

/* Fills the hashes of the end, keeps the activity hash, and begins anew. */
int crank_hash_finish(struct kernel *kernel, struct kernel_crank_end *end, struct error *error);

#endif
