/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_FORMAT_DATABASE_H
#define GASPIPE_STORE_FORMAT_DATABASE_H

#include <stdbool.h>

#include "base/error.h"

struct store;

/* Flipping one bit of a version must not make another one. */
enum { SCHEMA_VERSION = 6 };

enum schema_state {
    SCHEMA_EMPTY, /* the file holds nothing yet */
    SCHEMA_CURRENT,
};

/* *same: the file's tables are those that schema_create() makes. */
int schema_compare(struct store *store, bool *same, struct error *error);

/* The rest is for store.c. Functions return 0 or a store, or -1 or NULL with the error filled. */

/* A store without a database, for the file `path`, which is copied. */
struct store *database_new(const char *path, struct error *error);

/* The flags are those of sqlite3_open_v2(). Nothing is changed in the file yet. */
int database_open(struct store *store, int flags, enum schema_state *state, struct error *error);

/* For writing: creates the tables in an empty one, and prepares the statements. */
int database_set_up(struct store *store, enum schema_state state, struct error *error);

/* Opens an empty file of its own, which SQLite deletes when it is closed; with tables, prepared. */
int database_open_temporary(struct store *store, struct error *error);

/* Closes and frees all; NULL is allowed. */
void database_free(struct store *store);

#endif
