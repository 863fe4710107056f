/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_HTML_PAGE_DELIVERIES_H
#define GASPIPE_TOOLS_HTML_PAGE_DELIVERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "slog/model/model.h"
#include "slog/read/names.h"

/*
 * A page being written: tools/html/page/page.html, with page.css, data and scripts in place of the
 * comments named after them. All these files are built into the program.
 *
 * A failure leaves the previous file (base/output/output_file.h).
 */
struct page_file;

/* Begins a page up to its data. NULL with ERROR_SYSTEM. */
struct page_file *page_file_open(const char *path, struct error *error);

/*
 * Adds JSON text in a script element of this class. A `<`, which can only be inside a string, is
 * escaped, so that nothing in it can end the element. -1 with ERROR_SYSTEM, also if `json` had
 * failed.
 */
int page_file_add(struct page_file *file, const char *class, const struct buf *json,
                  struct error *error);

/* Writes the rest and gives the page its name. -1 with ERROR_SYSTEM. */
int page_file_finish(struct page_file *file, struct error *error);

/* Frees, and removes what was not finished. NULL is allowed. */
void page_file_free(struct page_file *file);

/*
 * A page's deliveries, some thousand at a time, as JSON that page.js reads.
 *
 * `deliveries` is an object of columns, arrays with an item per delivery:
 *
 *   start         nanoseconds after the previous one; the first: after the page's zero
 *   total, pipe, worker, kernel            nanoseconds; null: unknown; without the waits for a CPU
 *   cpuWait, workerCpuWait                 nanoseconds that gaspipe, and the worker, had no CPU
 *   vat, kind     numbers in the page's tables
 *   text          its description
 *   problem, crank, number, block, compute, instructions, blockCost, gasBurnt,
 *   line, syscalls, consoles
 *   flags         bits of enum page_flag
 *   ordinal       among all deliveries of the file, from 1
 *   cause         the ordinal of the delivery whose send or resolve caused it; 0: unknown
 *   chain         slog/model/causes.h
 *   queued        nanoseconds since it was sent; null: unknown
 *   gas           null: unknown
 *
 * `detail` has the spans of these deliveries:
 *
 *   labels        pairs of a request's kind and words
 *   lengths       of each delivery's bytes; 0: no detail
 *   bytes         of all deliveries, in base64
 *   said          per delivery an array: its text, then for each request in order its
 *                 text, "\n" and its answer; empty if there was no space
 *
 * A delivery's bytes are numbers, seven bits per byte, lowest first, with the top bit
 * set on all bytes of a number but the last. The sequence:
 *
 *   unit          in nanoseconds
 *   unseen        the number of requests without stamps of the worker, and for each:
 *                 arrival at the kernel after the delivery was sent, kernel time (both
 *                 in units), number of its label
 *   spans         for each: kind + 8 * length in units; a span of kind UP begins a
 *                 request, and the number of its label follows
 */
enum page_flag {
    PAGE_REPLAY = 1,
    PAGE_ERROR = 2,
    PAGE_CLOCK = 4,   /* the clock was set during it: no detail */
    PAGE_OVERRUN = 8, /* some requests lack stamps */
};

enum page_column {
    PAGE_START,
    PAGE_TOTAL,
    PAGE_PIPE,
    PAGE_WORKER,
    PAGE_KERNEL,
    PAGE_CPU_WAIT,
    PAGE_WORKER_CPU_WAIT,
    PAGE_VAT,
    PAGE_KIND,
    PAGE_TEXT,
    PAGE_PROBLEM,
    PAGE_CRANK,
    PAGE_NUMBER,
    PAGE_BLOCK,
    PAGE_COMPUTE,
    PAGE_INSTRUCTIONS,
    PAGE_BLOCK_COST,
    PAGE_GAS_BURNT,
    PAGE_LINE,
    PAGE_SYSCALLS,
    PAGE_CONSOLES,
    PAGE_FLAGS,
    PAGE_ORDINAL,
    PAGE_CAUSE,
    PAGE_CHAIN,
    PAGE_QUEUED,
    PAGE_GAS,
    PAGE_COLUMNS,
};

/* All zeros is empty. */
struct page_deliveries {
    size_t count;
    int64_t before; /* the start of the one before */
    struct buf columns[PAGE_COLUMNS];
    struct names labels; /* kind, '\0', words */
    struct buf lengths, bytes, said;
};

/*
 * Adds a delivery that begins `start` nanoseconds after the page's zero; with its spans if
 * `detail`, with its text if `said`. Returns the bytes of its spans. Failure shows in
 * page_deliveries_append().
 */
size_t page_deliveries_add(struct page_deliveries *deliveries,
                           const struct model_delivery *delivery, int64_t start, uint32_t vat,
                           uint32_t kind, bool detail, bool said);

/* True if they should be written. */
bool page_deliveries_full(const struct page_deliveries *deliveries);

/* Appends each as JSON. */
void page_deliveries_append(const struct page_deliveries *deliveries, struct buf *json);
void page_deliveries_append_detail(const struct page_deliveries *deliveries, struct buf *json);

/* Empties it. */
void page_deliveries_free(struct page_deliveries *deliveries);

#endif
