/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULER_H
#define GASPIPE_SUPERVISOR_SCHEDULER_H

#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "slog/write/writer.h"
#include "store/store.h"
#include "supervisor/process/launcher.h"
#include "supervisor/schedule/report.h"

/*
 * What runs next: asks the kernel for cranks, has the warehouse deliver them,
 * hands syscalls to the kernel, has snapshots made when they are due, and commits
 * transactions of several cranks. It lives on a loop and tells its owner what happens.
 */
struct scheduler;

/* SwingSet's numbers (npm @agoric/swingset-vat 0.33.0). */
enum { SCHEDULER_SNAPSHOT_INITIAL = 3, SCHEDULER_SNAPSHOT_INTERVAL = 200 };

struct scheduler_options {
    uv_loop_t *loop;
    const struct launcher *launcher;
    struct store *store;
    struct slog_writer *slog;    /* NULL: none is written */
    const char *fingerprint;     /* of what counts instructions; NULL: nothing does */
    uint64_t timeout_ms;         /* for a delivery; 0: none */
    uint64_t snapshot_interval;  /* deliveries from one snapshot of a vat to the next; 0: none */
    uint64_t snapshot_initial;   /* deliveries up to the first one */
    uint64_t reap_interval;      /* deliveries from one bringOutYourDead to the next; 0: none */
    struct kernel_limits limits; /* of vats that are new */
    uint64_t retries;            /* after the host's trouble, of one crank */
    uint64_t cranks_per_commit;  /* that are committed together; at least 1 */
    uint64_t max_workers;        /* at a time; 0: one for each vat */
    uint64_t jobs;               /* deliveries that are under way at a time; at least 1. With
                                  * max_workers and a slog 1: which vats give up their workers
                                  * when depends on when workers end, and the slog tells it */
};

struct scheduler_listener {
    void *context;
    /* A delivery has ended. It is not durable yet. */
    void (*delivered)(void *context, const struct delivery_report *report);
    /* The kernel has nothing to do, nothing is under way; scheduler_go() when it has. */
    void (*idle)(void *context);
    /*
     * With several jobs: the vat of the message that the owner will have queued behind `index`
     * others when the kernel has nothing to do, and then its queueing, into a kernel that keeps
     * nothing. False, -1: that cannot be known yet.
     */
    bool (*coming)(void *context, size_t index, int64_t *vat);
    int (*queue_coming)(void *context, size_t index, struct kernel *kernel, struct error *error);
    /* All that was told up to now is durable. */
    void (*committed)(void *context);
    /* The system failed: nothing more is done, and what is not committed is dropped. */
    void (*failed)(void *context, const struct error *error);
    /* After scheduler_close(): all workers are gone. */
    void (*closed)(void *context);
};

/*
 * Opens the kernel of the store, in a transaction that stays open. Everything in the
 * options is borrowed for the scheduler's life. NULL with the error.
 */
struct scheduler *scheduler_new(const struct scheduler_options *options,
                                const struct scheduler_listener *listener, struct error *error);

/* The kernel, to queue messages and ask; inside the open transaction. */
struct kernel *scheduler_kernel(const struct scheduler *scheduler);

/* Begins a transaction when none is open, for the owner's changes. */
int scheduler_open_transaction(struct scheduler *scheduler, struct error *error);

/*
 * Starts the vats' workers and brings them to where the vats stand, then goes. With
 * `max_workers` a vat's worker starts when it is delivered to.
 */
void scheduler_start(struct scheduler *scheduler);

/* Goes on until the kernel has nothing to do: idle() is called then, or failed(). */
void scheduler_go(struct scheduler *scheduler);

/* Commits what has gathered: before something is waited for. -1 after failed() was called. */
int scheduler_commit(struct scheduler *scheduler);

/*
 * Ends all workers. What is under way is dropped, whole cranks are committed, unless
 * something had failed or `drop` is said.
 */
void scheduler_close(struct scheduler *scheduler, bool drop);

/* After closed(), when the loop has run to its end. NULL is allowed. */
void scheduler_free(struct scheduler *scheduler);

#endif
