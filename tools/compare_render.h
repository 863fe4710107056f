/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMPARE_RENDER_H
#define GASPIPE_TOOLS_COMPARE_RENDER_H

#include "base/buf.h"
#include "tools/pairs.h"

/* What a comparison found, in the order in which it is told. */
struct comparison {
    const struct pairs *pairs;
    const char *names[2];          /* of the files */
    const struct pair **diverging; /* in the order of the deliveries */
    size_t diverging_count;
    const struct pair **slower; /* the one that lost most time first */
    size_t slower_count, slower_shown;
    size_t instructions_differ;
};

void compare_text(struct buf *out, const struct comparison *comparison);
void compare_json(struct buf *out, const struct comparison *comparison);

#endif
