/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WARM_WARM_STORE_H
#define GASPIPE_WORKER_WARM_WARM_STORE_H

#include <stddef.h>
#include <sys/uio.h>

#include "base/buf.h"

/*
 * Answers what a vat asks while a worker warms up (worker/warm/warm_up.h), as a supervisor would:
 * the vat finds in its store what it has put there. Anything else than the store is answered by
 * null. Keys and values are the texts between the quotes of JSON strings, and compared as such.
 */
struct warm_store_entry {
    char *key, *value; /* owned */
};

/* All zeros: an empty one. */
struct warm_store {
    struct warm_store_entry *entries; /* owned; in order of their keys */
    size_t count, capacity;
    struct buf answer;
};

/* The answer to a request, without its first byte; it is the store's until the next one. */
struct iovec warm_store_answer(struct warm_store *store, struct iovec request);

void warm_store_free(struct warm_store *store);

#endif
