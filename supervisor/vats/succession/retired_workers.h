/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_SUCCESSION_RETIRED_WORKERS_H
#define GASPIPE_SUPERVISOR_VATS_SUCCESSION_RETIRED_WORKERS_H

#include <stddef.h>
#include <uv.h>

#include "supervisor/process/worker_process.h"

/* Workers that their vats do not wait for any more, until they have ended. */
struct retired_workers {
    uv_loop_t *loop;
    uint64_t patience_ms;     /* for each to end by itself; then it is killed */
    size_t count;             /* that have not ended yet */
    struct retirement *first; /* of these */
    void *context;
    void (*ended)(void *context); /* one of them has; from within the loop */
};

/* What one needs to retire: taken beforehand, so that retiring cannot fail. */
struct retirement;

/* `name` for what the worker prints; copied. NULL when memory ran out. */
struct retirement *retirement_new(struct retired_workers *workers, const char *name);

/* Of one that never began. NULL is allowed. */
void retirement_free(struct retirement *retirement);

/*
 * Takes the process over and closes its pipe, on which a worker ends by itself; one that does not
 * is killed after patience_ms. With `at_once`, it is killed now.
 */
void retirement_begin(struct retirement *retirement, struct worker_process *process, bool at_once);

/* From now on each has that long, also those that are ending. */
void retired_workers_hurry(struct retired_workers *workers, uint64_t patience_ms);

#endif
