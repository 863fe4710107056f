/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_ZYGOTE_H
#define GASPIPE_SUPERVISOR_PROCESS_ZYGOTE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "proto/fork_request.h"
#include "supervisor/process/child_process.h"

/*
 * A worker that has started from a snapshot and then only forks others (worker/zygote.h): they
 * begin with all that it has read, and share the memory that they do not change.
 */
struct zygote;

/*
 * Starts a zygote as `launch` describes; its descriptors 3, 4 and 7 become its socket. The calling
 * process becomes a subreaper (PR_SET_CHILD_SUBREAPER in prctl(2)), and so the parent of forked
 * workers. NULL with ERROR_SYSTEM.
 */
struct zygote *zygote_start(const struct child_launch *launch, struct error *error);

/*
 * Forks a worker with these descriptors, which are borrowed, and waits until it exists; the first
 * time also for the zygote's start, seconds at most. ps(1) shows it as `name`. It is this process's
 * child, in a process group of its own, and may use the calling thread's CPUs. -1 with
 * ERROR_SYSTEM: the zygote can no longer be used, and another process may read from the
 * descriptors.
 */
int zygote_fork(struct zygote *zygote, const char *name, const int fds[FORK_REQUEST_FDS],
                pid_t *pid, struct error *error);

/* Its workers continue. NULL is allowed. */
void zygote_end(struct zygote *zygote);

/* ---- when to fork ---- */

/*
 * Decides whether a worker is executed or forked, among workers that start from one snapshot. A
 * zygote costs the start of one worker, so the first worker is executed, and the second start
 * makes the zygote. All zeros is the beginning; only zygote.c looks inside.
 */
struct zygote_policy {
    struct zygote *zygote;
    char *words; /* the arguments that it was started with */
    unsigned asked;
    bool given_up;
};

enum zygote_choice {
    ZYGOTE_EXECUTE, /* the worker is executed */
    ZYGOTE_START,   /* start a zygote, pass it to zygote_policy_keep(), then ask again */
    ZYGOTE_FORK,    /* ask policy->zygote */
};

/* For a worker with these arguments, which end with NULL. */
enum zygote_choice zygote_policy_choose(struct zygote_policy *policy, char *const *arguments);

/* After ZYGOTE_START. Takes over the zygote; NULL: it could not be started. */
void zygote_policy_keep(struct zygote_policy *policy, struct zygote *zygote,
                        char *const *arguments);

/* The zygote failed: all later workers are executed. */
void zygote_policy_give_up(struct zygote_policy *policy);

/* It may be used again afterwards. */
void zygote_policy_free(struct zygote_policy *policy);

#endif
