/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_HTML_PAGE_PHASES_H
#define GASPIPE_TOOLS_HTML_PAGE_PHASES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "slog/model/phases.h"

/* A page's phases, but for cranks and deliveries, which it has anyway. All zeros has none. */
struct page_phases {
    struct page_phase *phases; /* owned */
    size_t count, capacity;
    uint64_t hidden; /* beyond `most` */
};

/* Adds a phase unless there are `most` already. -1 when memory ran out. */
int page_phases_add(struct page_phases *phases, const struct phase_span *span, size_t most);

/*
 * Appends them as a JSON array of arrays: what it is ("run timer", "vat-start"), its vat or "",
 * its start after `zero`, its total and its own time in nanoseconds.
 */
void page_phases_append(const struct page_phases *phases, int64_t zero, struct buf *json);

void page_phases_free(struct page_phases *phases);

#endif
