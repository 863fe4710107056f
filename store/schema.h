/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_SCHEMA_H
#define GASPIPE_STORE_SCHEMA_H

#include <stdbool.h>

#include "base/error.h"

struct store;

/* The tables of the store's file, and its format's version. */

/* ERROR_INPUT for a file of another program or format. *empty: the file holds nothing yet. */
int schema_check(struct store *store, bool *empty, struct error *error);

/* Creates the tables. */
int schema_create(struct store *store, struct error *error);

#endif
