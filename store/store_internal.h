/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_STORE_INTERNAL_H
#define GASPIPE_STORE_STORE_INTERNAL_H

#include <sqlite3.h>

#include "base/buf.h"
#include "store/key_cache.h"
#include "store/statements.h"
#include "store/store.h"

/* What the files of this room share: the store from within. */

struct store {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENTS];
    int bind_result; /* SQLITE_OK, or why a value could not be bound since the last step */
    char *path;      /* for words */
    int folder_fd;   /* holds the lock; -1: none */
    bool reads_only;
    struct key_cache cache;

    void (*changed)(void *context, char what, struct iovec key, struct iovec value);
    void *changed_context;
    struct buf scope; /* of the change that is told */
};

/* Fills the error with what SQLite says was wrong. Returns -1. */
int store_error(struct store *store, struct error *error);

#define store_error(...) error_minus_one((store_error)(__VA_ARGS__))

/* ---- schema.c ---- */

/* Whether the file is ours and of our format; *empty: it holds nothing yet. */
int schema_check(struct store *store, bool *empty, struct error *error);
int schema_create(struct store *store, struct error *error);

#endif
