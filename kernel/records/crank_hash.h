/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_CRANK_HASH_H
#define GASPIPE_KERNEL_RECORDS_CRANK_HASH_H

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * The crank hash and the activity hash. Two stores with equal activity hashes did the
 * same cranks and hold the same keys and values.
 *
 *     changes of a crank, then the state's running hash
 *           |
 *       SHA-256 = crank hash ---.
 *                               |
 *     activity hash before -----+-- SHA-256 = activity hash
 *
 * The crank hash is SHA-256 over kernel->changes, a sequence of records. Each record is a
 * letter, two lengths of 8 bytes, little endian, and that many bytes of key and value. First
 * come the changes to the kernel's keys and the vatstores, with the letters of
 * store_watch(). 'd' is the delivery and 'c' a syscall, both in the vat's references. 'h',
 * the last, is the running hash.
 *
 * Undone changes are left out, and everything that depends on time, host or counter. So are
 * the caller's keys, which begin with "input.", the store's own (STORE_LOST), and the records of
 * vats' limits.
 *
 * The running hash is the sum modulo 2^64, as 8 bytes, little endian, of the checksums
 * (store/integrity/rows.h) of all rows that the changes can name, except `activityhash`.
 * Each change adjusts the sum without reading other rows. Edits of the store from outside
 * change it too.
 *
 * The activity hash is SHA-256 over two texts: the previous activity hash (empty for the
 * first) and the crank hash. Changes between cranks, by calls of kernel.h, have a hash of
 * their own that is chained in the same way. So the result does not depend on closing and
 * reopening the kernel.
 *
 * The key `activityhash` has the activity hash, a blank, and the running hash as a number.
 * Stores of older versions lack the number; then all rows are added up once.
 */

/* Records each change of the store until the crank is finished. */
void crank_hash_watch(struct kernel *kernel);

/* Reads the running hash of the state, if the store has it. */
int crank_hash_open(struct kernel *kernel, struct error *error);

/* Returns the activity hash of the last crank; "" before the first. */
int crank_hash_activity(struct kernel *kernel, char activityhash[KERNEL_HASH_SIZE],
                        struct error *error);

/* Records the delivery or a syscall. */
void crank_hash_note(struct kernel *kernel, char what, const char *bytes, size_t length);

/* Chains the changes of a call from outside. Returns `result`, or -1. */
int crank_hash_outside(struct kernel *kernel, int result, struct error *error);

/* Fills the hashes in `end`, stores the activity hash, and starts the next record. */
int crank_hash_finish(struct kernel *kernel, struct kernel_crank_end *end, struct error *error);

/*
 * A delivery in its vat's transcript, as in SwingSet: {"d":vd,"sc":[{"s":vsc,"r":vsr},...],
 * "r":{"status":"ok" or "error","problem":...,"metering":{"computrons":N}}}. gaspipe adds
 * "instructions" and the counter's "fingerprint" to "r".
 */

/* Begins a delivery. */
void transcript_item_begin(struct kernel *kernel);

/* Adds a syscall of the current delivery; both texts are JSON. */
void transcript_item_add_syscall(struct kernel *kernel, const char *vsc, const char *vsr);

/* Stores the current delivery at the position in its view. */
int transcript_item_keep(struct kernel *kernel, const struct kernel_outcome *outcome,
                         struct error *error);

#endif
