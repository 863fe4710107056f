/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_HTML_PAGE_FILE_H
#define GASPIPE_TOOLS_HTML_PAGE_FILE_H

#include "base/buf.h"
#include "base/error.h"

/*
 * A page being written: tools/html/page/page.html, in which page.css, data and the
 * scripts beside it take the places of the comments named after them. All of
 * these files are carried inside the program.
 *
 * It is written as base/output/output_file.h says, so that a failure leaves what was
 * there before.
 */
struct page_file;

/* Begins a page up to its data. NULL with ERROR_SYSTEM. */
struct page_file *page_file_open(const char *path, struct error *error);

/*
 * Adds a piece of data: JSON text in a script element of this class. In it a
 * `<` can stand only inside a string, where it is escaped, so that nothing of
 * it can end the element. -1 with ERROR_SYSTEM, also when `json` had failed.
 */
int page_file_add(struct page_file *file, const char *class, const struct buf *json,
                  struct error *error);

/* Writes the rest and gives the page its name. -1 with ERROR_SYSTEM. */
int page_file_finish(struct page_file *file, struct error *error);

/* Frees, and removes what was not finished. NULL is allowed. */
void page_file_free(struct page_file *file);

#endif
