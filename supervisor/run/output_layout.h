/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_OUTPUT_LAYOUT_H
#define GASPIPE_SUPERVISOR_RUN_OUTPUT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

/* Which columns of gaspipe run fit into a terminal. Widths are in characters. */
struct output_layout {
    int vat_width, method_width;
    bool cuts;         /* a longer name of a vat or method is cut to these widths */
    bool parts;        /* the columns of pipe, worker and kernel are there */
    bool result_below; /* a result has a line of its own */
    size_t result_width;
};

/* width: of the terminal; 0: stdout is none, and lines may have any length. more: what
 * the columns of block cost and gas take, if they are there. At a width below 74 and these, lines
 * are longer than the terminal. */
struct output_layout output_layout(size_t width, size_t more);

#endif
