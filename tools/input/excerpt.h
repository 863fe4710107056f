/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_INPUT_EXCERPT_H
#define GASPIPE_TOOLS_INPUT_EXCERPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "slog/read/names.h"
#include "slog/read/record.h"
#include "tools/input/selection.h"

/*
 * Chooses the lines of a smaller slogfile: those of the chosen deliveries, whole; the lines that
 * begin and end their cranks, runs and blocks; slog-start, and the create-vat lines of all vats
 * that are not excluded, without their bundles unless `bundles`. If only blocks or times are
 * chosen, all other lines in these too.
 *
 * Memory is what waits, and some bytes for each vat.
 */
struct excerpt {
    const struct selection *selection; /* kinds, runs and minimum do not count */
    bool bundles;
    uint64_t deliveries; /* that were taken */

    /* Lines that begin what may turn out to contain something; each with its newline. */
    struct buf waiting[5];
    bool open[5]; /* the line that began it was given */
    int64_t block_height, crank_num;
    struct names vat_ids;
    struct excerpt_vat *vats; /* by number in vat_ids; owned */
    size_t vat_count, vat_capacity;
};

/* Takes in the next line, and appends to `out` what is to be kept now. -1: no memory. */
int excerpt_take(struct excerpt *excerpt, const struct record *record, struct buf *out);

void excerpt_free(struct excerpt *excerpt);

#endif
