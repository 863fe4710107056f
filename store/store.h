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
 * All state that outlives a run: the kernel's keys, vatstores, transcripts, snapshots of workers,
 * bundles. An SQLite database, gaspipe.sqlite in a directory, in WAL mode: commits that were synced
 * survive a power failure. Rows and pages have checksums, and each vat a hash of all its rows
 * (store/integrity/), which detect changes by a disk or another program.
 *
 * A transaction is committed as a whole or not at all; a change outside of one is a transaction of
 * its own. Within a transaction, changes can be undone back to a savepoint; savepoints nest.
 *
 * Functions return 0, or -1 with ERROR_SYSTEM (disk, memory, a damaged file). After a failed change
 * the transaction can only be rolled back. Values are appended to the caller's buffer; if there is
 * none, *found is false, the buffer is unchanged, and the result is 0. A vat's number is the N of
 * its vatID vN.
 */
struct store;

/* ---- opening ---- */

/*
 * Creates directory and file if missing; `directory` NULL: in memory. While the store is open, a
 * second store_open() of the directory fails. NULL with ERROR_SYSTEM, or ERROR_INPUT for a file of
 * another program or format.
 */
struct store *store_open(const char *directory, struct error *error);

/*
 * Opens a store for reading what was committed, also while another process has it open. Begin a
 * transaction to see one state throughout. store_*_set(), _add(), _put() and _delete() fail. NULL
 * as above; ERROR_INPUT if there is no such store.
 */
struct store *store_open_reader(const char *directory, struct error *error);

/* Rolls an open transaction back. NULL is allowed. */
void store_close(struct store *store);

/* Also removes the store if store_open() made it and nothing was committed to it. NULL: does
 * nothing. */
void store_close_unused(struct store *store);

/* ---- transactions and savepoints ---- */

/* Does nothing if one is open. */
int store_transaction_begin(struct store *store, struct error *error);

/* All changes since the beginning are durable when it returns. No savepoint may be open. */
int store_transaction_commit(struct store *store, struct error *error);

/*
 * The same in two steps. After the first, other processes see the changes, which survive the end of
 * this process. After store_sync(), which waits for the disk, they survive a power failure. It may
 * run in another thread while the store is used, and covers the commits made before its call.
 */
int store_transaction_commit_unsynced(struct store *store, struct error *error);
int store_sync(const struct store *store, struct error *error);

/*
 * store_transaction_commit_unsynced() in two parts, of which another thread does the second: it
 * calls store_commit_write() exactly once. After the first, the transaction is over for the caller,
 * and the next one can begin at once: only calls that need the file wait, not those for keys that
 * are cached. Other processes see the changes when store_commit_write() has returned 0. If it
 * fails, all that needs the file fails until store_transaction_rollback().
 */
int store_transaction_hand_over(struct store *store, struct error *error);
int store_commit_write(struct store *store, struct error *error);

/*
 * Lets the calling thread run on all CPUs that store_open()'s caller could use. For threads that
 * work for the store: the thread that starts them may be pinned to a worker's CPU, whose time they
 * would take. Does nothing if Linux refuses.
 */
void store_place_thread(const struct store *store);

/* Returns false if store_sync() does nothing, as for a store in memory. */
bool store_needs_sync(const struct store *store);

/* Undoes all changes since the beginning; does nothing if no transaction is open. */
void store_transaction_rollback(struct store *store);

/* Begins a transaction if none is open. */
int store_savepoint_set(struct store *store, struct error *error);

/* Undoes all changes since the last savepoint, and removes the savepoint. */
int store_savepoint_undo(struct store *store, struct error *error);

/* Removes the last savepoint; the changes since then stay. */
int store_savepoint_release(struct store *store, struct error *error);

/* ---- watching changes ---- */

enum store_change {
    STORE_SET = 's',
    STORE_DELETED = 'd', /* also if there was nothing to delete */
    STORE_EMPTIED = 'e', /* a whole vatstore, by store_vat_delete_all() */
};

struct store_changed {
    char what;          /* an enum store_change */
    struct iovec key;   /* the kernel's key itself, or "vN.vs.KEY" of a vat's */
    struct iovec value; /* the new one; empty unless STORE_SET */
    uint64_t before;    /* the row's old checksum; 0: no row. STORE_EMPTIED: the sum of all */
    uint64_t after;     /* the new one; 0: no row */
};

/* Calls changed() at each later change of the kernel's keys and vatstores, in order, but not when a
 * change is undone. NULL: stops that. */
void store_watch(struct store *store,
                 void (*changed)(void *context, const struct store_changed *change), void *context);

/* ---- the kernel's keys: text to bytes ---- */

/* Keys of the store itself begin with it. This key is there while the values that the kernel counts
 * are not known: the kernel deletes it. */
#define STORE_LOST "store.lost"

int store_key_get(struct store *store, const char *key, struct buf *value, bool *found,
                  struct error *error);
int store_key_set(struct store *store, const char *key, struct iovec value, struct error *error);
int store_key_delete(struct store *store, const char *key, struct error *error);

/*
 * The store has neither this key nor one with this name before its first dot ("kp40":
 * "kp40.state"), so it need not look for them. The caller knows that, because it counts its names.
 */
int store_name_note_new(struct store *store, const char *name, struct error *error);

/* Returns true if it was noted; false also after the note was dropped to save memory. */
bool store_name_is_new(const struct store *store, const char *name);

/* The first key after `after`, in the order of bytes, that begins with `prefix`; `after` "": the
 * first of all. Replaces the content of `key`, where `after` may point to. */
int store_key_next(struct store *store, const char *prefix, const char *after, struct buf *key,
                   bool *found, struct error *error);

/* Appends the names of the keys that begin with `prefix` and are damaged, each with its '\0'; reads
 * all. */
int store_keys_damaged(struct store *store, const char *prefix, struct buf *names,
                       struct error *error);

/* Returns true if the file was not known to be as it was closed when it was opened. */
bool store_was_changed(const struct store *store);

/* Deletes the keys that begin with `prefix` and are damaged; *count: how many. */
int store_keys_drop_damaged(struct store *store, const char *prefix, int64_t *count,
                            struct error *error);

/* ---- vatstores: any bytes to any bytes ---- */

int store_vat_get(struct store *store, int64_t vat, struct iovec key, struct buf *value,
                  bool *found, struct error *error);
int store_vat_set(struct store *store, int64_t vat, struct iovec key, struct iovec value,
                  struct error *error);
int store_vat_delete(struct store *store, int64_t vat, struct iovec key, struct error *error);

/* The first key after `key`, in the order of bytes. Its value is neither read nor checked: it may
 * be large, and no limit of the vat counts it. */
int store_vat_next_key(struct store *store, int64_t vat, struct iovec key, struct buf *next,
                       bool *found, struct error *error);

int store_vat_delete_all(struct store *store, int64_t vat, struct error *error);

/* ---- transcripts: items by position, from 0 in each incarnation of a vat ---- */

int store_transcript_add(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                         struct iovec item, struct error *error);
int store_transcript_get(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                         struct buf *item, bool *found, struct error *error);

/* The items' positions are first .. end - 1; both 0: no items. */
int store_transcript_bounds(struct store *store, int64_t vat, int64_t incarnation, int64_t *first,
                            int64_t *end, struct error *error);

/* Deletes the transcripts of all incarnations. */
int store_transcript_delete_all(struct store *store, int64_t vat, struct error *error);

/* ---- snapshots of workers, kept once for each content ---- */

/* SHA-256 in hexadecimal digits, and '\0'. */
enum { STORE_HASH_SIZE = 65 };

struct store_snapshot {
    char hash[STORE_HASH_SIZE]; /* of the snapshot's bytes */
    int64_t size;               /* in bytes */
    int64_t compressed_size;    /* in the store: zstd */
};

enum { STORE_BACKGROUND_MAX = 8 };

/* Called when a background snapshot is known, with the listener's context. -1: the caller fails. */
struct store_background_listener {
    void *context;
    int (*kept)(void *context, const struct store_snapshot *snapshot, struct error *error);
};

/*
 * Stores the rest of `fd` as the vat's last snapshot, made before the transcript's item `position`.
 * The one before is kept as well; older ones of the vat are deleted.
 */
int store_snapshot_put(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                       int fd, struct store_snapshot *snapshot, struct error *error);

/*
 * The same, while a thread compresses and hashes the bytes. `fd` is owned; its content must not
 * change. A transaction is open, and no savepoint. The snapshot counts from this call on: the
 * commit waits for it, and so do functions that find, replace or delete snapshots; undoing a later
 * savepoint does not undo it. At most STORE_BACKGROUND_MAX are in progress; another one first waits
 * for them.
 *
 * kept() is called from one of the functions that wait, or when the transaction is rolled back, in
 * the order of the snapshots. It is not called for one that could not be compressed.
 */
int store_snapshot_put_in_background(struct store *store, int64_t vat, int64_t incarnation,
                                     int64_t position, int fd,
                                     const struct store_background_listener *listener,
                                     struct error *error);

/* Returns true if store_snapshot_settle() would have to wait. */
bool store_snapshot_is_pending(const struct store *store);

/* Waits for background snapshots, and stores them. */
int store_snapshot_settle(struct store *store, struct error *error);

/* The vat's last snapshot, if it is of this incarnation. */
int store_snapshot_last(struct store *store, int64_t vat, int64_t incarnation, int64_t *position,
                        struct store_snapshot *snapshot, bool *found, struct error *error);

/* The one before that. */
int store_snapshot_before(struct store *store, int64_t vat, int64_t incarnation, int64_t *position,
                          struct store_snapshot *snapshot, bool *found, struct error *error);

/* Delete the snapshot made at that position, or all of the vat. */
int store_snapshot_delete(struct store *store, int64_t vat, int64_t incarnation, int64_t position,
                          struct error *error);
int store_snapshot_delete_all(struct store *store, int64_t vat, struct error *error);

/* A snapshot that belongs to no vat, under a name of the caller's. */
int store_snapshot_put_named(struct store *store, const char *name, int fd,
                             struct store_snapshot *snapshot, struct error *error);
/* The same with compressed bytes, whose hash and sizes the caller has checked. */
int store_snapshot_put_packed(struct store *store, const char *name,
                              const struct store_snapshot *snapshot, struct iovec compressed,
                              struct error *error);
int store_snapshot_named(struct store *store, const char *name, struct store_snapshot *snapshot,
                         bool *found, struct error *error);

/* Writes the snapshot's bytes to `fd`. -1 also if there is no such snapshot or its bytes do not
 * match the hash; then the content of `fd` is useless. */
int store_snapshot_read(struct store *store, const char *hash, int fd, struct error *error);

/* Appends the rest of `fd`, compressed with zstd, and fills *snapshot. */
int snapshot_bytes_pack(int fd, struct buf *compressed, struct store_snapshot *snapshot,
                        struct error *error);

/* Writes the decompressed bytes to `fd`. -1 with ERROR_SYSTEM, also if they do not match the hash.
 */
int snapshot_bytes_unpack(struct iovec compressed, const char *hash, int fd, struct error *error);

/* ---- bundles, by the caller's names ("b1-…") ---- */

/* Does nothing if the store has the bundle: its name is a hash of its content. */
int store_bundle_put(struct store *store, const char *id, struct iovec json, struct error *error);
int store_bundle_get(struct store *store, const char *id, struct buf *json, bool *found,
                     struct error *error);

/* ---- how much there is ---- */

struct store_sum {
    int64_t items;
    int64_t bytes; /* of keys and values in the store */
};

struct store_sums {
    struct store_sum keys;
    struct store_sum vatstores;
    struct store_sum transcripts;
    struct store_sum snapshots;
    struct store_sum bundles;
    int64_t file_bytes; /* of the database's pages, free ones too */
    int64_t free_bytes; /* of pages without content */
};

/* Both read all that they count. */
int store_sum_all(struct store *store, struct store_sums *sums, struct error *error);
int store_vat_sum(struct store *store, int64_t vat, struct store_sum *sum, struct error *error);

#endif
