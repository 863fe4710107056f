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
 * Changes to a vatstore that are kept in memory: reads find a changed key here, and others in the
 * store, which is not written. For a few thousand changes.
 */
struct overlay {
    struct store *store; /* borrowed */
    int64_t vat;
    struct overlay_entry *entries; /* in the order of their keys */
    size_t count, capacity;
};

/* overlay_free() also takes all zeros. */
void overlay_init(struct overlay *overlay, struct store *store, int64_t vat);
void overlay_free(struct overlay *overlay);

/* As store_vat_get() and so on in store/store.h. */
int overlay_get(const struct overlay *overlay, struct iovec key, struct buf *value, bool *found,
                struct error *error);
int overlay_next_key(const struct overlay *overlay, struct iovec key, struct buf *next, bool *found,
                     struct error *error);
int overlay_set(struct overlay *overlay, struct iovec key, struct iovec value, struct error *error);
int overlay_delete(struct overlay *overlay, struct iovec key, struct error *error);

#endif
