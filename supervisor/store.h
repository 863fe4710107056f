/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_STORE_H
#define GASPIPE_SUPERVISOR_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * What outlives a run: each vat's keys and values, and the counters that
 * number cranks and deliveries. SQLite, in the file gaspipe.sqlite of a folder,
 * in WAL mode with synchronous=FULL: what was committed is there after a power
 * cut. The store is locked while it is open.
 *
 * Everything that a crank changes stands between store_begin() and
 * store_commit(). Errors are ERROR_SYSTEM, but for a file that is not ours
 * (ERROR_INPUT).
 */
struct store;

/* Makes the folder when it is missing. NULL as folder: in memory, gone at the end. */
struct store *store_open(const char *folder, struct error *error);

/* NULL is allowed. What was not committed is dropped. */
void store_close(struct store *store);

int store_begin(struct store *store, struct error *error);
int store_commit(struct store *store, struct error *error);

/* Drops all since store_begin(); does nothing outside of it. */
void store_rollback(struct store *store);

/* A delivery's changes, which store_undo() takes back within the crank. */
int store_mark(struct store *store, struct error *error);
int store_undo(struct store *store, struct error *error);

/* A vat as the store knows it. */
struct store_vat {
    int64_t id;            /* 1, 2, ...: the N of its vatID vN */
    int64_t delivery_next; /* number of its next delivery; the first is 1 */
};

/* The vat of that name; a new one when there is none. Outside of cranks. */
int store_provide_vat(struct store *store, const char *name, struct store_vat *vat,
                      struct error *error);

/* The number of the next crank; the first is 0. */
int store_crank_next(struct store *store, int64_t *crank_num, struct error *error);

/* Within a crank: the crank and this vat's delivery have had their numbers. */
int store_count_delivery(struct store *store, int64_t vat_id, struct error *error);

/* Keys and values are UTF-8 and may hold any byte. */
int store_get(struct store *store, int64_t vat_id, struct iovec key, struct buf *value, bool *found,
              struct error *error);
int store_set(struct store *store, int64_t vat_id, struct iovec key, struct iovec value,
              struct error *error);
int store_delete(struct store *store, int64_t vat_id, struct iovec key, struct error *error);

/* The first key behind `key` in the order of their bytes. */
int store_next_key(struct store *store, int64_t vat_id, struct iovec key, struct buf *next,
                   bool *found, struct error *error);

#endif
