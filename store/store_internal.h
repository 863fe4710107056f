/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_STORE_INTERNAL_H
#define GASPIPE_STORE_STORE_INTERNAL_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "store/integrity/cached_rows.h"
#include "store/integrity/commit_mark.h"
#include "store/integrity/rows.h"
#include "store/key_cache.h"
#include "store/statements.h"
#include "store/store.h"

/*
 * A snapshot of store_snapshot_put_in_background(). While the state is BACKGROUND_PACKING its
 * thread owns the members below `packed`, until pthread_join(). The store's thread owns the others.
 */
struct background_snapshot {
    struct background_snapshot *next;
    enum {
        BACKGROUND_PACKING,
        BACKGROUND_PACKED, /* and not in the tables yet */
        BACKGROUND_PUT,    /* into the tables, by a savepoint that may be undone */
    } state;
    pthread_t thread;
    const struct store *store;
    int64_t vat, incarnation, position;
    struct store_background_listener listener;
    size_t savepoints; /* how many were open when it was put */

    atomic_bool packed; /* set as the thread's last act: joining it will not wait */
    int fd;
    struct buf compressed;
    struct store_snapshot snapshot;
    int result;
    struct error error;
};

/* Called at each event of the transaction. */
struct transaction_watch {
    int (*commits)(struct store *store, struct error *error); /* before the commit */
    void (*undone)(struct store *store);                      /* after the last savepoint was */
    void (*released)(struct store *store);                    /* the same */
    void (*dropped)(struct store *store); /* before a rollback, and before the store is closed */
};

/* Rows that the next commit writes. */
struct commit_writes {
    struct key_writes keys;
    struct sum_writes sums;
    uint64_t total;
};

/*
 * One thread, the owner, uses a store and owns all members, with these exceptions:
 *
 * - Another thread runs store_commit_write(). From store_transaction_hand_over() until it posts
 *   `returned`, it owns the database, the statements, `commit`, `mark`, `commit_error` and what
 *   statements_begin() sets; the owner waits for `returned` before it uses them.
 * - store_sync() may run in another thread, and reads `log_fd`; threads that compress snapshots
 * read `cpus`. Neither changes between store_open() and store_close(), which comes after both.
 */
struct store {
    sqlite3 *database;
    bool begun;               /* the caller's transaction has */
    bool sqlite_begun;        /* SQLite's has: see statements_begin() */
    size_t sqlite_savepoints; /* how many SQLite has set: before the first change after each */
    struct commit_writes commit;
    bool lent;                 /* the owner has not waited for `returned` since statements_lend() */
    sem_t returned;            /* posted by the thread that wrote a commit */
    struct error commit_error; /* why that thread could not write the last commit; or of no kind */
    sqlite3_stmt *statements[STATEMENTS];
    int bind_result;  /* SQLITE_OK, or why a value could not be bound since the last step */
    char *path;       /* of the database, for messages */
    int directory_fd; /* holds the lock; -1: none */
    int log_fd;       /* of the write-ahead log, to sync it; -1: SQLite syncs each commit */
    bool reads_only;
    bool was_changed;               /* since it was closed, perhaps */
    bool has_lost_rows;             /* some vat may be marked: integrity/lost_rows.h */
    bool made_file, made_directory; /* by store_open() */
    struct key_cache cache;
    struct running_sums sums;
    struct commit_mark mark;

    void (*changed)(void *context, const struct store_changed *change);
    void *changed_context;
    struct buf scope;       /* the key of the change that is reported */
    struct buf place;       /* the last place that cached_row_place() made */
    size_t unwritten_bytes; /* of values that changed since they were written */
    size_t large_value;     /* longer values are not cached; bytes; 0: the usual bound */

    cpu_set_t cpus; /* on which the thread that opened the store could run */
    struct background_snapshot *background; /* in their order; owned */
    const struct transaction_watch *watch;  /* NULL: none */
};

/*
 * Around a change: begins a transaction if none is open (*own). transaction_leave() then commits
 * it, or rolls it back if `result` is not 0; it returns the outcome.
 */
int transaction_enter(struct store *store, bool *own, struct error *error);
int transaction_leave(struct store *store, bool own, int result, struct error *error);

#endif
