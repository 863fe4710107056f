/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_KEY_WRITES_H
#define GASPIPE_STORE_KEY_WRITES_H

#include "base/error.h"

struct store;

/*
 * Brings the table of the kernel's keys to what the cache has (store/key_cache.h): before a commit,
 * and before anybody reads that table but by a key's name. 0, or -1 with ERROR_SYSTEM: then the
 * transaction has to be rolled back.
 */
int key_writes_finish(struct store *store, struct error *error);

#endif
