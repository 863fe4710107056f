/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_RENDER_H
#define GASPIPE_TOOLS_RENDER_H

#include "base/buf.h"
#include "slog/model.h"

/* What was met in all, for the end of a report. */
struct tally {
    uint64_t lines;
    uint64_t bad_lines;  /* no slog lines, and passed over */
    uint64_t torn_lines; /* unfinished last lines */
    uint64_t deliveries;
    uint64_t kernels; /* new kernel processes after the first one */
    uint64_t clock_changes;
    uint64_t unended, unstarted; /* deliveries with one of their two lines missing */
};

/*
 * One output format: each function appends to `out`, whose failure the caller
 * looks at. Those that a format does not need are NULL.
 */
struct render_ops {
    void (*delivery)(struct buf *out, const struct model_delivery *delivery);
    void (*note)(struct buf *out, const struct model_note *note);
    void (*end)(struct buf *out, const struct tally *tally);
    bool labels; /* wants model_event.label */
};

extern const struct render_ops render_text; /* for people, delivery by delivery */
extern const struct render_ops render_json; /* one JSON object a line */

#endif
