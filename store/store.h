/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_STORE_H
#define GASPIPE_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * What outlives a run: the kernel's keys, each vat's own store, transcripts,
 * snapshots of workers, bundles. SQLite, in the file gaspipe.sqlite of a folder,
 * in WAL mode: what was committed and synced is there after a power cut. Rows and pages have
 * checksums, and each vat a hash of all its rows (store/integrity/): what was changed by a disk or
 * another program is damage, not data.
 *
 * Changes are made within a transaction, which is committed as a whole or not at
 * all. A change outside of a transaction is a transaction of its own. Within one,
 * changes can be undone back to a savepoint; savepoints nest.
 *
 * Functions return 0, or -1 with ERROR_SYSTEM (disk, memory, a damaged file).
 * After a failed change the transaction can only be rolled back. What is found is
 * appended to the caller's buffer; where nothing is, *found is false, the buffer
 * stays as it was, and the result is 0. The number of a vat is the N of its
 * vatID vN.
 */
struct store;

/* ---- opening ---- */

/*
 * Makes folder and file when they are missing; NULL as folder: in memory, gone
 * at the end. A second store_open() of the folder is refused while the store is
 * open. NULL with ERROR_SYSTEM, or ERROR_INPUT for a file of another program or format.
 */
struct store *store_open(const char *folder, struct error *error);

/*
 * Only to look at what was committed, also while another process has the store
 * open. Begin a transaction to see one state throughout. Changes nothing: store_*_set(),
 * _add(), _put() and _delete() fail. NULL as above; no such store is ERROR_INPUT.
 */
struct store *store_open_reader(const char *folder, struct error *error);

/* NULL is allowed. What was not committed is dropped. */
void store_close(struct store *store);

/* ---- transactions and savepoints ---- */

/* Does nothing when one is open. */
int store_transaction_begin(struct store *store, struct error *error);

/* All changes since the beginning are durable when it returns. No savepoint may be open. */
int store_transaction_commit(struct store *store, struct error *error);

/*
 * The same in two steps. After the first, others see the changes, and they outlive this process;
 * after store_sync(), which waits for the disk, they outlive a power cut, too. store_sync() may run
 * in another thread while the store is used; it covers the commits before its call.
 */
int store_transaction_commit_unsynced(struct store *store, struct error *error);
int store_sync(const struct store *store, struct error *error);

/*
 * The first step with the writing left to another thread, which calls store_commit_write() once, in
 * any case. To the caller the transaction is over, and the next one can begin at once: only what
 * needs the file waits, which keys of the kernel that were used before do not. Others see the
 * changes when store_commit_write() has returned 0. When it fails, all that needs the file fails
 * until store_transaction_rollback().
 */
int store_transaction_hand_over(struct store *store, struct error *error);
int store_commit_write(struct store *store, struct error *error);

/*
 * Lets the calling thread run on the processors that the store's opener could run on. For threads
 * that work for the store: who starts one may by then keep to the processor of a worker, whose time
 * it would take. Where the thread may not be moved it stays.
 */
void store_place_thread(const struct store *store);

/* Whether store_sync() has anything to wait for: it has not for a store in memory. */
bool store_needs_sync(const struct store *store);

/* Drops all since the beginning, and every savepoint; does nothing when no transaction is open. */
void store_transaction_rollback(struct store *store);

/* Begins a transaction when none is open. */
int store_savepoint_set(struct store *store, struct error *error);

/* Undoes all changes since the last savepoint, and removes the savepoint. */
int store_savepoint_undo(struct store *store, struct error *error);

/* Removes the last savepoint; the changes since then stay. */
int store_savepoint_release(struct store *store, struct error *error);

/* ---- watching changes ---- */

enum store_change {
    STORE_SET = 's',
    STORE_DELETED = 'd', /* also when there was nothing to delete */
    STORE_EMPTIED = 'e', /* a vat's store, by store_vat_delete_all(); no value */
};

struct store_changed {
    char what;          /* an enum store_change */
    struct iovec key;   /* the kernel's key itself, or "vN.vs.KEY" of a vat's */
    struct iovec value; /* the new one; empty when there is none */
    uint64_t before;    /* the row's checksum until now; 0: there was none. Emptied: their sum */
    uint64_t after;     /* ... from now on; 0: there is none */
};

/*
 * Calls changed() at each change of the kernel's keys and the vats' stores that is made from
 * now on, in order. Undoing is not told. NULL: no more.
 */
void store_watch(struct store *store,
                 void (*changed)(void *context, const struct store_changed *change), void *context);

/* ---- the kernel's keys: text to bytes ---- */

int store_key_get(struct store *store, const char *key, struct buf *value, bool *found,
                  struct error *error);
int store_key_set(struct store *store, const char *key, struct iovec value, struct error *error);
int store_key_delete(struct store *store, const char *key, struct error *error);

/*
 * Saves looking for what cannot be there: the store has no key of this name, and none with this
 * name before its first dot ("kp40": "kp40.state"). The caller knows, from having counted them.
 */
int store_name_note_new(struct store *store, const char *name, struct error *error);

/* Whether it was noted; false also when that has been forgotten to save memory. */
bool store_name_is_new(const struct store *store, const char *name);

/*
 * The first key behind `after`, in the order of bytes, that begins with
 * `prefix`; "" as `after`: the first of all. `key` is emptied before; it may hold
 * what `after` points to.
 */
int store_key_next(struct store *store, const char *prefix, const char *after, struct buf *key,
                   bool *found, struct error *error);

/* ---- a vat's own store: any bytes to any bytes ---- */

int store_vat_get(struct store *store, int64_t vat, struct iovec key, struct buf *value,
                  bool *found, struct error *error);
int store_vat_set(struct store *store, int64_t vat, struct iovec key, struct iovec value,
                  struct error *error);
int store_vat_delete(struct store *store, int64_t vat, struct iovec key, struct error *error);

/* The first key behind `key` in the order of their bytes. Its value, which may be large and which
 * no limit of the vat counts, is neither read nor checked. */
int store_vat_next_key(struct store *store, int64_t vat, struct iovec key, struct buf *next,
                       bool *found, struct error *error);

int store_vat_delete_all(struct store *store, int64_t vat, struct error *error);

/* ---- transcripts: items by position, from 0 in each incarnation of a vat ---- */

int store_transcript_add(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                         struct iovec item, struct error *error);
int store_transcript_get(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                         struct buf *item, bool *found, struct error *error);

/* The items' positions are first .. end - 1; both 0: there is none. */
int store_transcript_bounds(struct store *store, int64_t vat, int64_t incarnation, int64_t *first,
                            int64_t *end, struct error *error);

/* Those of all incarnations. */
int store_transcript_delete_all(struct store *store, int64_t vat, struct error *error);

/* ---- snapshots of workers, kept once for each content ---- */

/* SHA-256 in hexadecimal digits, and '\0'. */
enum { STORE_HASH_SIZE = 65 };

struct store_snapshot {
    char hash[STORE_HASH_SIZE]; /* of the snapshot's bytes */
    int64_t size;               /* of the same */
    int64_t compressed_size;    /* as it is kept: zstd */
};

enum { STORE_LATE_MAX = 8 };

struct store_late_listener {
    void *context;
    int (*kept)(void *context, const struct store_snapshot *snapshot, struct error *error);
};

/*
 * Keeps what is read from `fd`, from its place up to its end, as the vat's last
 * snapshot, made before the transcript's item `position`. The one before is kept as well;
 * older ones of the vat are dropped.
 */
int store_snapshot_put(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                       int fd, struct store_snapshot *snapshot, struct error *error);

/*
 * The same while the caller goes on: a thread compresses and hashes what `fd` has, which nobody may
 * change any more. `fd` is owned, and its place nobody else's. A transaction is open, no savepoint
 * is. The snapshot counts from this call on: the commit waits for it, and so do functions that look
 * for snapshots, replace or delete them; undoing a savepoint that was set later leaves it.
 * STORE_LATE_MAX are late at a time; one more waits for those before.
 *
 * kept() is called once the snapshot is known, from within one of the functions that wait for it,
 * or when the transaction is rolled back; not if it could not be packed. It is called in the order
 * in which the snapshots came.
 */
int store_snapshot_put_late(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                            int fd, const struct store_late_listener *listener,
                            struct error *error);

/* Whether store_snapshot_settle() would have to wait. */
bool store_snapshot_is_late(const struct store *store);

/* Waits for the late snapshots, if there are any, and keeps them. */
int store_snapshot_settle(struct store *store, struct error *error);

/* The vat's last snapshot, if it is of this incarnation. */
int store_snapshot_last(struct store *store, int64_t vat, int64_t incarnation, int64_t *position,
                        struct store_snapshot *snapshot, bool *found, struct error *error);

/* The one before that. */
int store_snapshot_before(struct store *store, int64_t vat, int64_t incarnation, int64_t *position,
                          struct store_snapshot *snapshot, bool *found, struct error *error);

/* The one that was made at that place, and all of the vat. */
int store_snapshot_delete(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                          struct error *error);
int store_snapshot_delete_all(struct store *store, int64_t vat, struct error *error);

/* The same under a name of the caller's, for snapshots that are not of one vat. */
int store_snapshot_put_named(struct store *store, const char *name, int fd,
                             struct store_snapshot *snapshot, struct error *error);
/* The same of what is compressed already, as *snapshot says: the caller has seen that it is. */
int store_snapshot_put_packed(struct store *store, const char *name,
                              const struct store_snapshot *snapshot, struct iovec compressed,
                              struct error *error);
int store_snapshot_named(struct store *store, const char *name, struct store_snapshot *snapshot,
                         bool *found, struct error *error);

/*
 * Writes the snapshot's bytes to `fd`, from its place on. -1 also when there is no
 * such snapshot or its bytes have another hash: `fd` then holds what is of no use.
 */
int store_snapshot_read(struct store *store, const char *hash, int fd, struct error *error);

/* Appends what is read from `fd` up to its end, compressed with zstd, and fills *snapshot. */
int snapshot_bytes_pack(int fd, struct buf *compressed, struct store_snapshot *snapshot,
                        struct error *error);

/* Writes what `compressed` holds to `fd`. -1 with ERROR_SYSTEM, also if its hash is another. */
int snapshot_bytes_unpack(struct iovec compressed, const char *hash, int fd, struct error *error);

/* ---- bundles, by the caller's names ("b1-…") ---- */

/* A bundle that is there already stays as it is: names tell contents. */
int store_bundle_put(struct store *store, const char *id, struct iovec json, struct error *error);
int store_bundle_get(struct store *store, const char *id, struct buf *json, bool *found,
                     struct error *error);

/* ---- how much there is ---- */

struct store_sum {
    int64_t items;
    int64_t bytes; /* of keys and values, as they are kept */
};

struct store_sums {
    struct store_sum keys;
    struct store_sum vatstores;
    struct store_sum transcripts;
    struct store_sum snapshots;
    struct store_sum bundles;
    int64_t file_bytes; /* of the database's pages, free ones too */
    int64_t free_bytes; /* of pages that nothing stands on */
};

/* Both read all that they count. */
int store_sum_all(struct store *store, struct store_sums *sums, struct error *error);
int store_vat_sum(struct store *store, int64_t vat, struct store_sum *sum, struct error *error);

#endif
