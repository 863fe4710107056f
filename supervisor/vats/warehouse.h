/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_WAREHOUSE_H
#define GASPIPE_SUPERVISOR_VATS_WAREHOUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "base/stamp.h"
#include "kernel/kernel.h"
#include "proto/meter.h"
#include "proto/vat_message.h"
#include "slog/write/writer.h"
#include "store/store.h"
#include "supervisor/process/launcher.h"

/*
 * The vats' workers; "warehouse" is SwingSet's own word for what keeps them. The warehouse starts
 * workers, restores their vats (from a snapshot, then by replaying the transcript), delivers to
 * them and reports what they ask and answer. What a vat may do is decided by its owner, and by the
 * kernel behind that.
 *
 * If there may be fewer workers than vats, a vat that needs one gets it when the least recently
 * used worker that waits for a delivery has been put away.
 *
 * It runs on a libuv loop, from which it makes all calls to its owner. Vats are identified by
 * number: the N of the vatID vN.
 */
struct warehouse;

struct warehouse_options {
    uv_loop_t *loop;
    const struct launch_config *launcher;
    struct store *store;      /* bundles, transcripts and snapshots are read there */
    struct slog_writer *slog; /* NULL: none is written */
    const char *fingerprint;  /* of what counts instructions; NULL: nothing does */
    uint64_t timeout_ms;  /* for a delivery; launcher_start_limit() of it for a start; 0: none */
    uint64_t jobs;        /* deliveries under way at a time; 0: one */
    uint64_t max_workers; /* that there are at a time, those that end included; 0: no limit */
};

/* A vat as the kernel describes it. Strings are borrowed for the call. */
struct warehouse_vat {
    int64_t id;
    const char *name; /* "" for none */
    const char *bundle_id;
    bool dynamic;
    int64_t incarnation;
    int64_t first_delivery; /* what to add to a place in the transcript for a delivery's number */
    int64_t deliveries;     /* of this incarnation: its transcript has as many, or more */
    struct kernel_limits limits; /* those that a worker is started with */
};

/* What a worker answered to a delivery. */
struct warehouse_answer {
    struct stamp come;
    const char *problem; /* NULL: it went well */
    const char *stack;   /* of the problem, lines of text; NULL: not known */
    const char *source;  /* the line of the contract that it leads to; NULL: to none */
    const char *value;   /* what came with "ok", JSON; NULL: null */
    const struct meter *meter;
};

/* What a worker was lost in. RESTART: it was the first to start from a new snapshot, which is gone
 * with it: the one before is the vat's last again. */
enum warehouse_work {
    WAREHOUSE_DELIVERY,
    WAREHOUSE_START,
    WAREHOUSE_SNAPSHOT,
    WAREHOUSE_RESTART,
};

/* How often it may be tried again. */
enum warehouse_hope { WAREHOUSE_HOPE, WAREHOUSE_HOPE_ONCE, WAREHOUSE_NO_HOPE };

/* Why what was wanted of a worker does not come. */
struct warehouse_loss {
    struct stamp come;
    const char *reason;
    /* ERROR_DELIVERY: the vat's own doing, which would come out the same again; ERROR_SYSTEM:
     * the host's, and what was under way may be tried again. */
    enum error_kind blame;
    /* With ERROR_SYSTEM: */
    enum warehouse_work work;
    enum warehouse_hope hope;
    bool suspect; /* once it is not tried again: the vat's trouble, and not that of all */
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

/* Everything in the options is borrowed for the warehouse's life. NULL when memory ran out. */
struct warehouse *warehouse_new(const struct warehouse_options *options,
                                const struct warehouse_listener *listener, struct error *error);

/*
 * Makes a vat known, or what changed of it: a new incarnation ends the worker of
 * the one before. -1 when memory ran out.
 */
int warehouse_set_vat(struct warehouse *warehouse, const struct warehouse_vat *vat,
                      struct error *error);

/* Starts the vat's worker if there is none, when there is room; ready() follows, or failed(). */
void warehouse_start(struct warehouse *warehouse, int64_t vat);

/* The vat is restored from the snapshot before its last one, until it gets another. False: it has
 * none, or that was tried. */
bool warehouse_fall_back(struct warehouse *warehouse, int64_t vat);

/*
 * Keeps the vat's lines in the slog aside, how it comes and what is delivered to it once more,
 * until warehouse_log_join() gives them their place. Nothing where no slog is written.
 */
int warehouse_log_defer(struct warehouse *warehouse, int64_t vat, struct error *error);
int warehouse_log_join(struct warehouse *warehouse, int64_t vat, struct error *error);

/*
 * Delivers the VatDeliveryObject `vd` (JSON), as soon as the worker is there: sent()
 * follows, then answered() or lost(); lost() alone when the worker cannot be
 * started for the vat's first delivery. `vd` is borrowed until then. One delivery at
 * a time to each vat.
 */
void warehouse_deliver(struct warehouse *warehouse, int64_t id, const char *vd);

/*
 * A speculative delivery: the same before its turn, to a worker that waits. If room is needed, the
 * worker is put away without notice, during the delivery or after it; warehouse_is_speculative()
 * is false then. A speculative delivery does not count as use of its worker.
 */
void warehouse_deliver_speculatively(struct warehouse *warehouse, int64_t id, const char *vd);
bool warehouse_is_speculative(const struct warehouse *warehouse, int64_t id);

/* Its turn has come: the speculative delivery is like any other from now on. */
void warehouse_confirm(struct warehouse *warehouse, int64_t id);

/*
 * It was mispredicted: the worker is discarded, as by warehouse_evict(). The slog does not tell
 * how the worker comes back, unless room was needed.
 */
void warehouse_discard_speculation(struct warehouse *warehouse, int64_t id);

/*
 * Makes the vat's last delivery once more, as warehouse_deliver(), in a new worker: the one that
 * has had it is discarded. The slog does not tell how the new one comes.
 */
void warehouse_redeliver(struct warehouse *warehouse, int64_t id, const char *vd);

/* Answers what the vat asks, with JSON; when it was sent. */
struct stamp warehouse_reply(struct warehouse *warehouse, int64_t vat, struct iovec answer);

/* What the vat asks is answered much later: until it is let go its time does not count. */
void warehouse_stop_timer(struct warehouse *warehouse, int64_t vat);
void warehouse_restart_timer(struct warehouse *warehouse, int64_t vat);

/*
 * Ends the delivery, and the worker, of a vat that asks for what cannot be: lost() follows, with
 * what the delivery used up to there. The reason is copied.
 */
void warehouse_abort_delivery(struct warehouse *warehouse, int64_t vat, const char *reason);

/* How many deliveries of this incarnation the vat's last snapshot has; -1: there is none. */
int64_t warehouse_saved_at(const struct warehouse *warehouse, int64_t vat);

/* Whether its worker is there and has nothing to do. */
bool warehouse_waits(const struct warehouse *warehouse, int64_t id);

/* Whether the vat is known, and its name, "v1" where it has none; the warehouse's. */
bool warehouse_knows(const struct warehouse *warehouse, int64_t vat);
const char *warehouse_name(const struct warehouse *warehouse, int64_t vat);

/* What the vat's worker is held to; NULL: the vat is not known. */
const struct kernel_limits *warehouse_limits(const struct warehouse *warehouse, int64_t id);

/*
 * Has the vat's worker, which waits, write a snapshot into the store, and starts
 * it anew from that, so that it goes on as one that is brought back: saved() follows.
 */
void warehouse_save(struct warehouse *warehouse, int64_t vat);

/* Ends the vat's worker, now. It comes back when it is wanted. What it was to do is not told of. */
void warehouse_evict(struct warehouse *warehouse, int64_t id);

/* The vat is no more: its worker is ended, and it is forgotten. */
void warehouse_remove(struct warehouse *warehouse, int64_t id);

/* Ends all workers. A delivery under way is dropped. */
void warehouse_close(struct warehouse *warehouse);

/* From now on a worker that is to end by itself is killed after half a second, and not after two;
 * also those that are ending. */
void warehouse_shorten_timeout(struct warehouse *warehouse);

/* After closed(), when the loop has run to its end. NULL is allowed. */
void warehouse_free(struct warehouse *warehouse);

#endif
