/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_SCHEDULER_H
#define GASPIPE_SUPERVISOR_SCHEDULE_SCHEDULER_H

#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "slog/write/writer.h"
#include "store/store.h"
#include "supervisor/process/launcher.h"
#include "supervisor/schedule/log/delivery_report.h"
#include "supervisor/schedule/policy.h"

struct speculation_source;

/*
 * Decides what runs next: takes cranks from the kernel one after the other, sends their deliveries
 * to the vats' workers, retries after host failures, requests snapshots that are due, and commits
 * every `cranks_per_commit` cranks. Runs on a loop; its owner prints what is durable.
 */
struct scheduler;

/* SwingSet's numbers (npm @agoric/swingset-vat 0.33.0). */
enum { SCHEDULER_SNAPSHOT_INITIAL = 3, SCHEDULER_SNAPSHOT_INTERVAL = 200 };

struct scheduler_options {
    uv_loop_t *loop;
    const struct launch_config *launcher;
    struct store *store;
    struct slog_writer *slog;         /* NULL: none is written */
    const char *fingerprint;          /* of the counter of instructions; NULL: none counts */
    uint64_t timeout_ms;              /* for a delivery; 0: none */
    struct snapshot_policy snapshots; /* when vats get them */
    uint64_t reap_interval;      /* deliveries from one bringOutYourDead to the next; 0: none */
    struct kernel_limits limits; /* for new vats */
    uint64_t retries;            /* of one crank, after a host failure */
    uint64_t cranks_per_commit;  /* that are committed together; at least 1; never routing alone */
    bool commits_in_place;       /* a commit is written when committed() is called */
    uint64_t max_workers;        /* at a time; 0: one for each vat */
    uint64_t jobs; /* deliveries in progress at a time; at least 1. Must be 1 with max_workers and
                    * a slog: which workers are evicted would depend on when workers finish, and
                    * the slog shows it */
    const struct speculation_source *upcoming; /* with several jobs: what the owner will queue */
};

struct scheduler_listener {
    void *context;
    /* A delivery has ended. It is not durable yet. */
    void (*delivered)(void *context, const struct delivery_report *report);
    /* The crank in progress is undone, to be tried again or not: what was reported of it is void.
     */
    void (*undone)(void *context);
    /* The kernel has nothing to do and nothing is in progress. Call scheduler_run() when it has. */
    void (*idle)(void *context);
    /* All that was reported so far is committed, or a thread writes it until durable(): it then
     * outlives this process, not yet a power cut. */
    void (*committed)(void *context);
    /* A thread makes durable what is committed so far, while cranks continue. */
    void (*syncing)(void *context);
    /* Everything that was committed at the last syncing() is durable. */
    void (*durable)(void *context);
    /* The system failed: the scheduler has stopped, and drops what is not committed. */
    void (*failed)(void *context, const struct error *error);
    /* After scheduler_close(): all workers are gone. */
    void (*closed)(void *context);
};

/*
 * Opens the store's kernel, in a transaction that stays open. Everything in the options is
 * borrowed for the scheduler's life. NULL with the error.
 */
struct scheduler *scheduler_new(const struct scheduler_options *options,
                                const struct scheduler_listener *listener, struct error *error);

/* The kernel, to queue messages and query; inside the open transaction. */
struct kernel *scheduler_kernel(const struct scheduler *scheduler);

/* Begins a transaction for the owner's changes, unless one is open. */
int scheduler_open_transaction(struct scheduler *scheduler, struct error *error);

/*
 * Starts the vats' workers, brings them to where their vats stand, and then goes. With
 * `max_workers` a vat's worker starts at the vat's first delivery. With `idle_first`, idle() is
 * called before the first crank, for an owner that must queue more; there are no new vats then.
 */
void scheduler_start(struct scheduler *scheduler, bool idle_first);

/* Runs cranks until the kernel has nothing to do: then idle() is called, or failed(). */
void scheduler_run(struct scheduler *scheduler);

/* Commits the cranks so far, and durable() will follow; call it before waiting for input. -1 after
 * failed() was called. */
int scheduler_commit(struct scheduler *scheduler);

/*
 * Ends all workers. Drops the crank in progress and commits the whole cranks before it; drops
 * these too with `drop`, and after a failure. failed() may be called from within.
 */
void scheduler_close(struct scheduler *scheduler, bool drop);

/* Gives workers less time to end by themselves, also those that are ending. */
void scheduler_shorten_timeout(struct scheduler *scheduler);

/* After closed(), when the loop has run to its end. NULL is allowed. */
void scheduler_free(struct scheduler *scheduler);

#endif
