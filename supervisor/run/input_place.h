/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_INPUT_PLACE_H
#define GASPIPE_SUPERVISOR_INPUT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/store.h"

/*
 * How much of the deliveries a store has taken in: kept in the store's keys
 * input.lines, input.hash and input.done, which change in the transaction that has
 * what the lines caused. The hash is a chain of SHA-256: of the hash before and the line.
 */
struct input_place {
    struct store *store;
    int64_t lines; /* number of the last line that was taken in; 0: none */
    char hash[STORE_HASH_SIZE];
    bool done; /* their end was reached */

    char skipped[STORE_HASH_SIZE]; /* the chain over the lines that are skipped */
};

/*
 * Reads the place; a store that has none is at the beginning; ERROR_SYSTEM where it is damaged.
 * The store is borrowed.
 */
int input_place_open(struct input_place *place, struct store *store, struct error *error);

/* A new file begins: at its first line. Within a transaction. */
int input_place_begin(struct input_place *place, struct error *error);

/* The line of that number, of which `length` bytes are, is taken in. Within a transaction. */
int input_place_take(struct input_place *place, int64_t number, const char *text, size_t length,
                     struct error *error);

/* The end was reached. Within a transaction. */
int input_place_finish(struct input_place *place, struct error *error);

/*
 * A line of a file that is read anew, from its first one up to place->lines: at the
 * last one, ERROR_INPUT where these are not the lines that were taken in.
 */
int input_place_skip(struct input_place *place, int64_t number, const char *text, size_t length,
                     struct error *error);

/* The file has ended, or goes on behind place->lines: whether all of these were in it. */
int input_place_check(const struct input_place *place, struct error *error);

#endif
