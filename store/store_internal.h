/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_STORE_INTERNAL_H
#define GASPIPE_STORE_STORE_INTERNAL_H

#include <sched.h>
#include <semaphore.h>
#include <sqlite3.h>

#include "base/buf.h"
#include "store/integrity/cached_rows.h"
#include "store/integrity/commit_mark.h"
#include "store/integrity/rows.h"
#include "store/key_cache.h"
#include "store/statements.h"
#include "store/store.h"

/*
 * What a store is made of: for store.c, keys.c, vatstores.c, and the SQL beneath them in
 * statements.c and store_error.c. The others of this room use statements.h.
 */

/* A snapshot of store_snapshot_put_late(). The store's thread has it; `packing` says what its own
 * thread has meanwhile (store/snapshots.c). */
struct late_snapshot {
    struct late_snapshot *next;
    enum late_state {
        LATE_PACKING,
        LATE_PACKED, /* and to be put into the tables */
        LATE_PUT,    /* by a savepoint, undoing which takes it out again */
    } state;
    struct packing *packing;
    int64_t vat, incarnation, position;
    struct store_late_listener listener;
    struct buf compressed;
    struct store_snapshot snapshot;
    size_t savepoints; /* that were open when it was put */
};

/* Who is told of what becomes of the transaction. */
struct transaction_watch {
    int (*commits)(struct store *store, struct error *error); /* before */
    void (*undone)(struct store *store);                      /* the last savepoint */
    void (*released)(struct store *store);
    void (*dropped)(struct store *store); /* all of it will be, or the store is closed */
};

/* What a commit has to write. */
struct commit_writes {
    struct key_writes keys;
    struct sum_writes sums;
    uint64_t total;
};

/*
 * One thread at a time uses a store, and owns all members. Two exceptions need no lock, because
 * store_open() sets what they read, and it stays until store_close(), which comes after both:
 * store_sync() reads `log_fd` in a thread of supervisor/schedule/commit_sync.c, and threads that
 * compress snapshots read `processors`.
 */
struct store {
    sqlite3 *database;
    bool begun;             /* a transaction is, for the caller; */
    bool told;              /* SQLite knows of it, since a statement came, */
    size_t savepoints_told; /* and of so many savepoints, since one came that changes something */
    struct commit_writes commit;
    bool lent;                 /* the owner has not waited for `returned` since statements_lend() */
    sem_t returned;            /* posted by the thread that wrote a commit */
    struct error commit_error; /* why that thread could not write the last commit; or of no kind */
    sqlite3_stmt *statements[STATEMENTS];
    int bind_result; /* SQLITE_OK, or why a value could not be bound since the last step */
    char *path;      /* for words */
    int folder_fd;   /* holds the lock; -1: none */
    int log_fd;      /* of the write-ahead log, to sync it; -1: SQLite syncs each commit */
    bool reads_only;
    struct key_cache cache;
    struct running_sums sums;
    struct commit_mark mark;

    void (*changed)(void *context, const struct store_changed *change);
    void *changed_context;
    struct buf scope;       /* of the change that is told */
    struct buf place;       /* the last of a row in the cache (store/integrity/cached_rows.h) */
    size_t unwritten_bytes; /* of values that changed since they were written */
    size_t large_value;     /* bytes, beyond which a value is not cached; 0: the usual bound */

    cpu_set_t processors;                  /* for threads: of the thread that opened the store */
    struct late_snapshot *late;            /* in the order in which they came; owned */
    const struct transaction_watch *watch; /* NULL: nobody is told */
};

/*
 * A change outside of a transaction is a transaction of its own: *own, which transaction_leave()
 * ends with `result`, and returns what came of it.
 */
int transaction_enter(struct store *store, bool *own, struct error *error);
int transaction_leave(struct store *store, bool own, int result, struct error *error);

#endif
