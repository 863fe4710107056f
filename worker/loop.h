/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_LOOP_H
#define GASPIPE_WORKER_LOOP_H

#include <stdbool.h>
#include <stddef.h>

#include "worker/engine.h"

struct loop_options {
    int in;           /* descriptor of frames from the supervisor */
    int out;          /* descriptor of frames to it */
    size_t frame_cap; /* bytes; longer frames are refused */
    const struct engine_ops *ops;
    struct engine_options engine; /* its host is set by the loop */
    uint64_t instruction_limit;   /* for each delivery; 0: none; wants the counter */
    uint64_t cost_limit;          /* of block cost, likewise; wants the compiled-in meter */
    bool forks;                   /* once started, serve as a zygote on `in` (worker/zygote.h) */
    char *name;                   /* what ps(1) shows, in place; NULL: nothing of its own */
    const char *snapshot;         /* place of a snapshot; NULL: start a new heap */
    bool confine;                 /* run commands under the filter of sandbox/contract_filter.h */
    bool parent_words;            /* say of a lost parent what xsnap-worker says */
    bool xsnap;                   /* say and do what xsnap-worker does (worker/xsnap_compat.h) */
    bool report_stops; /* send COMMAND_STOPPED before ending at a limit; take COMMAND_STOP */
};

/* Starts the engine and handles commands until the pipe ends. Returns the worker's exit status
 * (enum worker_exit), after reporting any error on stderr. */
int loop_run(const struct loop_options *options);

#endif
