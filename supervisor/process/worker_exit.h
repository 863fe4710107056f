/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_WORKER_EXIT_H
#define GASPIPE_SUPERVISOR_PROCESS_WORKER_EXIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Why a delivery failed, where the contract itself does not say: one wording,
 * because it is recorded in results, and replay compares those. */

/*
 * Describes how a worker's process ended. signal_number is 0 when it exited; `stderr_line` is
 * the last line that it printed, or "". Returns whose fault it was: ERROR_DELIVERY for its
 * vat's (then SwingSet's wording, where it has one), ERROR_SYSTEM for the host's.
 */
enum error_kind worker_exit_describe(int exit_status, int signal_number, const char *stderr_line,
                                     char *text, size_t size);

/* A host failure that the vat may have caused: a signal that a program's own fault raises; the host
 * gave it no memory. */
bool worker_exit_is_crash(int signal_number);
bool worker_exit_is_memory(int exit_status, int signal_number);

enum worker_limit_kind {
    WORKER_LIMIT_NONE,
    WORKER_LIMIT_COMPUTRONS,
    WORKER_LIMIT_INSTRUCTIONS,
    WORKER_LIMIT_COST,
    WORKER_LIMIT_STACK,
    WORKER_LIMIT_HEAP,
    WORKER_LIMIT_KEYS,
    WORKER_LIMIT_MESSAGE,
};

/* The limit that a reason names. */
struct worker_limit {
    enum worker_limit_kind kind;
    const char *name;  /* of what is limited, one word; NULL: the reason names none */
    const char *what;  /* what there was more of than the limit's value, with its option */
    const char *fixed; /* the same where no value was set: the engine's own limit; NULL: none */
};
struct worker_limit worker_exit_limit(const char *reason);

/* A delivery that used more computrons than its limit. */
extern const char worker_over_compute[];

/* A delivery that ended without a result. */
extern const char worker_unsettled[];

#endif
