/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_STORE_ERROR_H
#define GASPIPE_STORE_STORE_ERROR_H

#include "base/error.h"

struct store;

/* Fills the error with the store's file and SQLite's last failure. Returns -1. */
int store_error(struct store *store, struct error *error);

/* As error_set(), with the store's file before the caller's words. */
int store_error_set(const struct store *store, struct error *error, enum error_kind kind,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

#define store_error(...)     error_minus_one((store_error)(__VA_ARGS__))
#define store_error_set(...) error_minus_one((store_error_set)(__VA_ARGS__))

#endif
