/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_OVERLAY_H
#define GASPIPE_STORE_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "store/store.h"

/*
 * A vat's own store with changes that are not in it: reads find what was changed here
 * first, and else what the store holds, which stays as it is. For a few thousand changes.
 */
struct overlay {
    struct store *store; /* borrowed */
    int64_t vat;
    struct overlay_entry *entries; /* in the order of their keys */
    size_t count, capacity;
};

/* Without changes; all zeros may be freed, too. */
void overlay_init(struct overlay *overlay, struct store *store, int64_t vat);
void overlay_free(struct overlay *overlay);

/* As the functions of these names in store/store.h. */
int overlay_get(const struct overlay *overlay, struct iovec key, struct buf *value, bool *found,
                struct error *error);
int overlay_next_key(const struct overlay *overlay, struct iovec key, struct buf *next, bool *found,
                     struct error *error);
int overlay_set(struct overlay *overlay, struct iovec key, struct iovec value, struct error *error);
int overlay_delete(struct overlay *overlay, struct iovec key, struct error *error);

#endif
