/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_SUCCESSION_SUCCESSOR_H
#define GASPIPE_SUPERVISOR_VATS_SUCCESSION_SUCCESSOR_H

#include <stdbool.h>

#include "supervisor/process/worker_process.h"
#include "supervisor/vats/succession/retired_workers.h"

/*
 * A vat's next worker, which was started while the present one writes the snapshot that the next
 * one is to start from: it reads that snapshot from a pipe.
 */
struct successor {
    struct worker_process *process; /* NULL: there is none */
    struct retirement *retirement;  /* for one that is not wanted after all */
};

/* For the start of the process. If it ends before it is taken, there is no successor. */
struct worker_listener successor_listener(struct successor *successor);

/* There is one from now on, which owns both. */
void successor_set(struct successor *successor, struct worker_process *process,
                   struct retirement *retirement);

/* It tells `listener` from now on and is the caller's. NULL: there is none. */
struct worker_process *successor_take(struct successor *successor,
                                      const struct worker_listener *listener);

/* It is killed, where there is one. */
void successor_drop(struct successor *successor);

#endif
