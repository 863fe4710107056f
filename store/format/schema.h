/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_FORMAT_SCHEMA_H
#define GASPIPE_STORE_FORMAT_SCHEMA_H

#include <stdbool.h>

#include "base/error.h"

struct store;

/* The tables of the store's file, and its format's version. */

enum {
    /* No version is made of another by flipping one bit. */
    SCHEMA_VERSION = 6,
};

enum schema_state {
    SCHEMA_EMPTY, /* the file holds nothing yet */
    SCHEMA_CURRENT,
};

/* ERROR_INPUT for a file of another program or format. */
int schema_check(struct store *store, enum schema_state *state, struct error *error);

/* *same: the file's tables are those that schema_create() makes. */
int schema_compare(struct store *store, bool *same, struct error *error);

/* Creates the tables. */
int schema_create(struct store *store, struct error *error);

#endif
