/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_CRANK_HASH_H
#define GASPIPE_KERNEL_RECORDS_CRANK_HASH_H

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * What a crank did, and the state that it left, as a hash. It is SHA-256 over kernel->changes:
 * the crank's changes, one after the other, of the kernel's keys and the vats' stores as
 * store_watch() tells them; (what 'd') the delivery and (what 'c') each syscall as the vat has
 * it; last (what 'h') the running hash of the state. Each is `what`, then twice a length of
 * 8 bytes, little endian, and that many bytes: a key and a value. What was undone is not in it,
 * nor is anything that depends on time, host or counter; nor are keys that begin with
 * "input.", the caller's, nor the records of vats' limits.
 *
 * The running hash of the state is the sum modulo 2^64, as 8 bytes, little endian, of the
 * checksums (store/integrity/rows.h) of all rows that can be in a crank's changes, but for
 * `activityhash`. It follows each change without reading other rows. So two
 * stores with the same activity hash agree in every key and value, also in those that somebody
 * has edited since they were written.
 *
 * The activity hash is SHA-256 over the text of the activity hash before (empty
 * for the first) and the text of the crank hash; it is kept in the key
 * `activityhash`, and changing that is in no hash. What is changed between cranks,
 * by work from outside, has a hash of its own, which goes into the activity hash in
 * the same way: so that it comes out the same when the kernel is closed and opened
 * in between.
 *
 * Behind the activity hash and a blank, `activityhash` has the running hash as a number. A gaspipe
 * that knew no such thing left it out: then all rows are added up once.
 */

/* Notes each change of the store from now on. */
void crank_hash_watch(struct kernel *kernel);

/* Reads the running hash of the state, where the store has it. */
int crank_hash_open(struct kernel *kernel, struct error *error);

/* The chain of hashes up to the last crank; "": there was none. */
int crank_hash_activity(struct kernel *kernel, char activityhash[KERNEL_HASH_SIZE],
                        struct error *error);

/* Notes the delivery or a syscall. */
void crank_hash_note(struct kernel *kernel, char what, const char *bytes, size_t length);

/* The end of what was asked from outside and came to `result`, which it returns. */
int crank_hash_outside(struct kernel *kernel, int result, struct error *error);

/* Fills the hashes of the end, keeps the activity hash, and begins anew. */
int crank_hash_finish(struct kernel *kernel, struct kernel_crank_end *end, struct error *error);

/*
 * A delivery in its vat's transcript, as SwingSet's: {"d":vd,"sc":[{"s":vsc,"r":vsr},
 * ...],"r":{"status":"ok" or "error","problem":...,"metering":{"computrons":N}}};
 * and in "r", of ours, "instructions" and "fingerprint" of what counted them.
 */

/* A delivery begins. */
void transcript_item_begin(struct kernel *kernel);

/* A syscall of the delivery under way; both are JSON. */
void transcript_item_add_syscall(struct kernel *kernel, const char *vsc, const char *vsr);

/* Puts the delivery under way into the store, at the place that its view says. */
int transcript_item_keep(struct kernel *kernel, const struct kernel_outcome *outcome,
                         struct error *error);

#endif
