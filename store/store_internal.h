/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_STORE_INTERNAL_H
#define GASPIPE_STORE_STORE_INTERNAL_H

#include <sqlite3.h>

#include "base/buf.h"
#include "store/integrity/running_sums.h"
#include "store/key_cache.h"
#include "store/statements.h"
#include "store/store.h"

/*
 * What a store is made of: for store.c, keys.c, vatstores.c, and the SQL beneath them in
 * statements.c and store_error.c. The others of this room use statements.h.
 */

struct store {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENTS];
    int bind_result; /* SQLITE_OK, or why a value could not be bound since the last step */
    char *path;      /* for words */
    int folder_fd;   /* holds the lock; -1: none */
    bool reads_only;
    struct key_cache cache;
    struct running_sums sums;

    void (*changed)(void *context, const struct store_changed *change);
    void *changed_context;
    struct buf scope; /* of the change that is told */
};

#endif
