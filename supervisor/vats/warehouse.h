/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_WAREHOUSE_H
#define GASPIPE_SUPERVISOR_VATS_WAREHOUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/cpu_wait.h"
#include "base/error.h"
#include "base/stamp.h"
#include "kernel/kernel.h"
#include "proto/meter.h"
#include "proto/vat_message.h"
#include "slog/write/writer.h"
#include "store/store.h"
#include "supervisor/process/launcher.h"
#include "supervisor/vats/vat_state.h"

/*
 * The vats' workers; SwingSet's term is "warehouse". It starts workers, restores their vats (from a
 * snapshot, then by replaying the transcript), sends deliveries and reports requests and results.
 * The owner and the kernel decide what a vat may do.
 *
 * With `max_workers`, a vat that needs a worker waits until the least recently used idle worker
 * has been evicted.
 *
 * It runs on a libuv loop and calls its owner from there. The number N identifies the vat vN.
 */
struct warehouse;

struct warehouse_options {
    uv_loop_t *loop;
    const struct launch_config *launcher;
    struct store *store;      /* bundles, transcripts and snapshots are read there */
    struct slog_writer *slog; /* NULL: none is written */
    const char *fingerprint;  /* of the instruction counter; NULL: none counts */
    uint64_t timeout_ms;  /* for a delivery; launcher_start_limit() of it for a start; 0: none */
    uint64_t jobs;        /* deliveries in progress at a time; 0: one */
    uint64_t max_workers; /* at a time, including those that end; 0: no limit */
};

/* A vat as the kernel describes it. Strings are borrowed for the call. */
struct warehouse_vat {
    int64_t id;
    const char *name; /* "" for none */
    const char *bundle_id;
    bool dynamic;
    int64_t incarnation;
    int64_t first_delivery;      /* a delivery's number is this plus its place in the transcript */
    int64_t deliveries;          /* of this incarnation: its transcript has as many, or more */
    struct kernel_limits limits; /* those that a worker is started with */
};

/* A worker's result of a delivery. */
struct warehouse_answer {
    struct stamp come;
    struct cpu_waits cpu_waits; /* since it was sent */
    const char *problem;        /* NULL: it went well */
    const char *stack;          /* of the problem, lines of text; NULL: not known */
    const char *source;         /* the line of the contract that it leads to; NULL: to none */
    const char *value;          /* what came with "ok", JSON; NULL: null */
    const struct meter *meter;
};

/* The work in which a worker was lost. RESTART: the first start from a new snapshot, which is then
 * deleted; the one before is the vat's last again. */
enum warehouse_work {
    WAREHOUSE_DELIVERY,
    WAREHOUSE_START,
    WAREHOUSE_SNAPSHOT,
    WAREHOUSE_RESTART,
};

/* The loss of a worker, and of what it was to do. */
struct warehouse_loss {
    struct stamp come;
    const char *reason;
    enum vat_loss kind; /* not NONE or IDLE */
    enum warehouse_work work;
    const struct meter *used; /* up to where the delivery was stopped; NULL: not known */
};

enum warehouse_event_kind {
    WAREHOUSE_EVENT_READY,    /* the vat's worker stands where the vat stands and waits */
    WAREHOUSE_EVENT_SENT,     /* the delivery was sent */
    WAREHOUSE_EVENT_CONSOLE,  /* in the delivery it called the console, and has been answered */
    WAREHOUSE_EVENT_SYSCALL,  /* in the delivery it made a syscall; the owner calls
                               * warehouse_reply() or warehouse_abort_delivery() */
    WAREHOUSE_EVENT_ANSWERED, /* the delivery has ended; the worker waits for the next one */
    WAREHOUSE_EVENT_LOST,     /* the worker has ended, and what was wanted of it (to start, a
                               * delivery, a snapshot) with it */
    WAREHOUSE_EVENT_SAVED,    /* the snapshot is in the store; a worker starts from it next */
    WAREHOUSE_EVENT_FAILED,   /* the system failed the warehouse; no other event follows */
    WAREHOUSE_EVENT_CLOSED,   /* after warehouse_close(): all workers have ended */
};

/* Everything is borrowed for the call. */
struct warehouse_event {
    enum warehouse_event_kind kind;
    int64_t vat;                           /* not of FAILED and CLOSED */
    struct stamp at;                       /* of SENT, CONSOLE and SYSCALL */
    const struct vat_request *request;     /* of CONSOLE and SYSCALL */
    const struct warehouse_answer *answer; /* of ANSWERED */
    const struct warehouse_loss *loss;     /* of LOST */
    const struct error *error;             /* of FAILED */
};

struct warehouse_listener {
    void *context;
    void (*event)(void *context, const struct warehouse_event *event);
};

/* Everything in the options is borrowed for the warehouse's life. NULL if out of memory. */
struct warehouse *warehouse_new(const struct warehouse_options *options,
                                const struct warehouse_listener *listener, struct error *error);

/* Adds or updates a vat; a new incarnation ends the old one's worker. -1 if out of memory. */
int warehouse_set_vat(struct warehouse *warehouse, const struct warehouse_vat *vat,
                      struct error *error);

/* Starts the vat's worker if it has none, as soon as max_workers allows; READY or LOST follows. */
void warehouse_start(struct warehouse *warehouse, int64_t vat);

/* Restores the vat from the snapshot before its last one, until it gets another. False if it has
 * none, or does so already. */
bool warehouse_fall_back(struct warehouse *warehouse, int64_t id);

/* Defers the vat's lines in the slog, about its start and replay, until warehouse_log_join() puts
 * them in their place. Does nothing without a slog. */
int warehouse_log_defer(struct warehouse *warehouse, int64_t vat, struct error *error);
int warehouse_log_join(struct warehouse *warehouse, int64_t vat, struct error *error);

/*
 * Delivers the VatDeliveryObject `vd` (JSON) once the worker is ready. SENT follows, then ANSWERED
 * or LOST; LOST alone if the worker cannot be started. `vd` is borrowed until then. One delivery at
 * a time to each vat.
 */
void warehouse_deliver(struct warehouse *warehouse, int64_t id, const char *vd);

/*
 * Sends a speculative delivery to an idle worker. The worker may still be evicted for another vat
 * without notice; warehouse_is_speculative() is false then. It does not count as use.
 */
void warehouse_deliver_speculatively(struct warehouse *warehouse, int64_t id, const char *vd);
bool warehouse_is_speculative(const struct warehouse *warehouse, int64_t id);

/* The turn of the speculative delivery has come: it is an ordinary one now. */
void warehouse_confirm(struct warehouse *warehouse, int64_t id);

/* Discards the worker of a mispredicted delivery. Its restart is not logged, unless it was evicted.
 */
void warehouse_discard_speculation(struct warehouse *warehouse, int64_t id);

/* Runs the vat's last delivery again in a new worker, whose start is not logged. */
void warehouse_redeliver(struct warehouse *warehouse, int64_t id, const char *vd);

/* Answers the vat's syscall, with JSON. Returns when it was sent. */
struct stamp warehouse_reply(struct warehouse *warehouse, int64_t vat, struct iovec answer);

/* The vat's syscall waits for the delivery's turn: until it restarts, the timer does not run. */
void warehouse_stop_timer(struct warehouse *warehouse, int64_t vat);
void warehouse_restart_timer(struct warehouse *warehouse, int64_t vat);

/* Ends the delivery, and the worker, of a vat that made an illegal syscall (ERROR_DELIVERY) or one
 * that needs damaged data (ERROR_INPUT): LOST follows, with what the delivery used so far. The
 * reason is copied. */
void warehouse_abort_delivery(struct warehouse *warehouse, int64_t vat, enum error_kind blame,
                              const char *reason);

/* How many deliveries of this incarnation the vat's last snapshot has; -1: it has none. */
int64_t warehouse_saved_at(const struct warehouse *warehouse, int64_t vat);

/* Returns true if its worker is idle. */
bool warehouse_waits(const struct warehouse *warehouse, int64_t id);

/* The vat's name is the warehouse's; "v1" if it has none. */
bool warehouse_knows(const struct warehouse *warehouse, int64_t vat);
const char *warehouse_name(const struct warehouse *warehouse, int64_t vat);

/* The limits of the vat's worker; NULL if the vat is not known. */
const struct kernel_limits *warehouse_limits(const struct warehouse *warehouse, int64_t id);

/* Makes the vat's idle worker write a snapshot into the store, and restarts it from that: SAVED,
 * then READY follow. */
void warehouse_save(struct warehouse *warehouse, int64_t vat);

/* Ends the vat's worker until the vat needs one again. No event of its work follows. */
void warehouse_evict(struct warehouse *warehouse, int64_t id);

/* Ends the vat's worker and forgets the vat. */
void warehouse_remove(struct warehouse *warehouse, int64_t id);

/* Ends all workers and drops their deliveries; CLOSED follows. */
void warehouse_close(struct warehouse *warehouse);

/* A worker that is to end by itself is killed after 0.5 s instead of 2 s, also one that is ending.
 */
void warehouse_shorten_timeout(struct warehouse *warehouse);

/* After CLOSED, when the loop has run to its end. NULL is allowed. */
void warehouse_free(struct warehouse *warehouse);

#endif
