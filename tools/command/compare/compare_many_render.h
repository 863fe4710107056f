/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_COMPARE_COMPARE_MANY_RENDER_H
#define GASPIPE_TOOLS_COMMAND_COMPARE_COMPARE_MANY_RENDER_H

#include "base/buf.h"
#include "base/error.h"
#include "tools/stats/crowd.h"

/* A delivery that took a file longer than the others. */
struct slow {
    size_t delivery, file;
    double excess; /* as crowd_excess() */
};

/* What a comparison of several files found. */
struct crowd_report {
    const struct crowd *crowd;
    char *const *names;      /* of the files */
    size_t rank[CROWD_MOST]; /* the slowest file first */
    size_t differing;        /* deliveries that did not come out the same in all files */
    struct slow *slow;       /* the one that lost most first; owned by who made the report */
    size_t slow_count, slow_most;
};

/* Each prints what it has on standard output as it grows, and leaves the rest in `out`. */
int compare_many_text(struct buf *out, const struct crowd_report *report, struct error *error);
int compare_many_json(struct buf *out, const struct crowd_report *report, struct error *error);

#endif
