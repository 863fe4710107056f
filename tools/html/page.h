/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_HTML_PAGE_H
#define GASPIPE_TOOLS_HTML_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/model/model.h"
#include "slog/model/phases.h"
#include "tools/input/feed.h"

/*
 * Deliveries as one HTML page that needs nothing else: sums, a timeline down to single syscalls,
 * their text, growth, prices, distributions, stalls, an icicle of vats, methods and syscalls.
 *
 * The page is written while deliveries come. Memory is what summary and stalls need, and a
 * megabyte or two of deliveries. The number of deliveries on the timeline, and of those with their
 * syscalls, is limited; sums, distributions, stalls and icicle cover all. The page says what was
 * left out.
 */
struct page_limits {
    uint64_t deliveries;   /* on the timeline, the first ones */
    uint64_t detail_bytes; /* of their syscalls */
    uint64_t said_bytes;   /* of the text of deliveries and syscalls */
    uint64_t tree_bytes;   /* of calls by function */
};

#define PAGE_LIMITS                                                                                \
    ((struct page_limits){1000 * 1000, 64 * 1024 * 1024, 64 * 1024 * 1024, 64 * 1024 * 1024})

struct page;

/*
 * Begins a page that replaces `path` when finished. It names `files` (ended by NULL, borrowed).
 * NULL with ERROR_SYSTEM.
 */
struct page *page_open(const char *path, char *const *files, struct page_limits limits,
                       struct error *error);

/*
 * Adds a delivery (with labels) if it is `wanted`; others only count for what spans usually take.
 * One without a place in time (no deliver line, or a clock set back in it) is not on the timeline.
 */
int page_add(struct page *page, const struct model_delivery *delivery, bool wanted,
             struct error *error);

/* Adds a phase to the timeline; the first 100,000 are kept. */
void page_add_phase(struct page *page, const struct phase_span *span);

/* Marks a new kernel process or a change of the clock before the next delivery. */
void page_note(struct page *page, const struct model_note *note);

/*
 * Adds the calls of deliveries by function, from a profile of gaspipe. -1 with ERROR_INPUT if it
 * is not one, or ERROR_SYSTEM.
 */
int page_add_profile(struct page *page, const char *path, struct error *error);

/* Ends the page and gives it its name. */
int page_finish(struct page *page, const struct tally *tally, struct error *error);

/* Frees; an unfinished page is removed. NULL is allowed. */
void page_free(struct page *page);

#endif
