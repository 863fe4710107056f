/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_INPUT_RUNS_H
#define GASPIPE_TOOLS_INPUT_RUNS_H

#include <stdint.h>

#include "slog/model/model.h"

/*
 * Where in slogfiles the runs of the kernel's process begin, so that reports that take several
 * together can say so. All zeros is one run.
 */
enum { RUNS_NAMED = 4 };

struct runs {
    uint64_t more; /* runs after the first one */
    struct {
        const char *file; /* NULL where only one is read; borrowed */
        uint64_t line;
        int64_t time;    /* nanoseconds since the epoch */
    } named[RUNS_NAMED]; /* where the first of these begin */
};

/* Takes in a note; all but those of a new kernel process are passed over. */
void runs_note(struct runs *runs, const struct model_note *note);

#endif
