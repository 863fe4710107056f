/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_SOURCE_SELECTION_H
#define GASPIPE_SUPERVISOR_REPLAY_SOURCE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which deliveries of a source are wanted. Strings are borrowed. */
struct source_selection {
    char *const *vats; /* IDs or names; none: all */
    size_t vat_count;
    int64_t span;     /* only the one that begins at this position; -1: all */
    int64_t from, to; /* numbers of deliveries; whole spans as far as `from` needs them */
};

#endif
