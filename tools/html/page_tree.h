/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_HTML_PAGE_TREE_H
#define GASPIPE_TOOLS_HTML_PAGE_TREE_H

#include <stdint.h>

#include "base/buf.h"
#include "slog/model/model.h"
#include "slog/read/names.h"

/*
 * Where the time of all live deliveries went, by vat, kind of delivery and
 * kind of syscall: what a page's icicle is drawn from. Deliveries that the
 * clock was set in are left out, as groups_add() does. Memory is some hundred
 * bytes for each combination that came.
 */
struct page_tree {
    struct names keys;
    struct page_branch *branches; /* by number in keys; owned */
    size_t count, capacity;
};

/* Takes in a delivery; `vat` and `kind` are numbers of the page's tables. -1: out of memory. */
int page_tree_add(struct page_tree *tree, const struct model_delivery *delivery, uint32_t vat,
                  uint32_t kind);

/*
 * Appends a JSON array of branches: [vat, kind, syscall or null, count,
 * nanoseconds of each enum model_span_kind, computrons, instructions]. With null it is what is of
 * no syscall, and the count is one of deliveries.
 */
void page_tree_append(const struct page_tree *tree, struct buf *json);

void page_tree_free(struct page_tree *tree);

#endif
