/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_ESTIMATE_OUTPUT_ESTIMATE_PAGE_H
#define GASPIPE_SUPERVISOR_ESTIMATE_OUTPUT_ESTIMATE_PAGE_H

#include "supervisor/estimate/output/record.h"

/*
 * Writes a page, one file without scripts: a table of the costs, and beside each a plot of it over
 * the records of `history` (NULL: no plots). 0, or -1 with the error.
 */
int estimate_page_write(const char *path, const char *history, const struct estimate *estimate,
                        struct error *error);

#endif
