/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_COMPARE_COMPARE_RENDER_H
#define GASPIPE_TOOLS_COMMAND_COMPARE_COMPARE_RENDER_H

#include "base/buf.h"
#include "base/error.h"
#include "tools/command/compare/compare_ranking.h"
#include "tools/stats/pairs.h"

/* A delivery that got slower, by its number in the pairs. */
struct slower {
    uint32_t number;
    int64_t excess; /* as pair_excess() */
};

/* What a comparison found, in the order in which it is told. */
struct comparison {
    const struct pairs *pairs;
    const char *names[2]; /* of the files */
    size_t diverging_count, instructions_differ, costs_differ;
    struct slower *slower; /* the one that lost most time first */
    size_t slower_count, slower_shown;
    struct ranking ranking;
};

/* Each prints what it has on standard output as it grows, and leaves the rest in `out`. */
int compare_text(struct buf *out, const struct comparison *comparison, struct error *error);
int compare_json(struct buf *out, const struct comparison *comparison, struct error *error);

#endif
