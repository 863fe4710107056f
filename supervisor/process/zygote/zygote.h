/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_ZYGOTE_ZYGOTE_H
#define GASPIPE_SUPERVISOR_PROCESS_ZYGOTE_ZYGOTE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "proto/fork_request.h"
#include "supervisor/process/child_process.h"

/*
 * A worker that has started from a snapshot and then only forks others (worker/pipe/zygote.h): they
 * begin with all that it has read, and share the memory that they do not change.
 */
struct zygote;

/*
 * Starts one as `launch` has it, but for the descriptors 3, 4 and 7, which become its socket. The
 * calling process becomes a subreaper (PR_SET_CHILD_SUBREAPER in prctl(2)), so that it is the
 * parent of those that are forked. NULL with ERROR_SYSTEM.
 */
struct zygote *zygote_start(const struct child_launch *launch, struct error *error);

/* What is asked of one. */
struct zygote_order {
    const char *name;     /* that ps(1) shows */
    unsigned patience_ms; /* so long it waits for a zygote that is warming up, if it is the first */
    bool more;            /* another is going to be asked for: it may be forked before */
};

/*
 * Has a worker forked with these descriptors, which are borrowed, and waits until it is there, at
 * first also until the zygote has started; seconds at most. It is a child of ours in a process
 * group of its own, and runs where the calling thread may. -1 with ERROR_SYSTEM: the zygote is
 * of no more use, and the descriptors may have a reader.
 */
int zygote_fork(struct zygote *zygote, const struct zygote_order *order,
                const int fds[FORK_REQUEST_FDS], pid_t *pid, struct error *error);

/* Its workers go on; one that nobody has asked for ends. NULL is allowed. */
void zygote_end(struct zygote *zygote);

#endif
