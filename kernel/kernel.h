/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_KERNEL_H
#define GASPIPE_KERNEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "proto/vat_message.h"

struct overlay;
struct store;

/*
 * The kernel: objects and promises, which vats may reach them, and the next delivery. A state
 * machine over a store: it starts no process, reads no clock and waits for nothing. The caller
 * sends deliveries to workers, passes their syscalls to the kernel, and reports how each delivery
 * ended.
 *
 * References, order of work, reference counting and records follow SwingSet's
 * kernel (npm @agoric/swingset-vat 0.33.0): the same vats that are sent the
 * same messages and make the same syscalls get the same references and the
 * same deliveries in the same order. The records are SwingSet's kvStore keys
 * (`ko20.refCount`, `v1.c.o+0`, `runQueue`, ...), so that people who know these
 * can read the store.
 *
 * All of it happens inside a transaction that the caller has opened with
 * store_transaction_begin(); it is durable once the caller has committed it. One crank:
 *
 *     kernel_next(kernel, &step, error)
 *       KERNEL_IDLE      nothing to do; kernel_queue_message() and kernel_set_clock()
 *                        bring more work
 *       KERNEL_ROUTED    a crank without a delivery; it has ended, step.end says how
 *       KERNEL_DELIVERY  send step.delivery.vd to the worker of step.delivery.vat;
 *                        kernel_syscall() for each of its syscalls;
 *                        kernel_end_delivery(), which ends the crank, or
 *                        (an upgrade) begins the second delivery of this crank
 *
 * Functions that return int return 0, or -1 with the error filled: ERROR_INPUT
 * for what the caller gave, ERROR_SYSTEM for the store, memory, or records in
 * the store that cannot be. After ERROR_SYSTEM call kernel_abandon_crank() and
 * roll the transaction back.
 */
struct kernel;

enum {
    KERNEL_REF_SIZE = 32,    /* "ko20", "kp40", "kd30", with its '\0' */
    KERNEL_HASH_SIZE = 65,   /* SHA-256, hex */
    KERNEL_NAME_LIMIT = 199, /* bytes of a vat's name */
};

/* ---- what the kernel tells while it works ---- */

struct kernel_crank {
    int64_t number;   /* from 0 */
    const char *type; /* "routing", "delivery" */
    const char
        *message_type;   /* "send", "notify", "startVat", "create-vat", "bringOutYourDead", ... */
    const char *message; /* the work, JSON, as in SwingSet's crank-start line */
};

struct kernel_clist_change {
    const char *mode; /* "import", "export", "drop" */
    int64_t vat;
    const char *kobj; /* "ko20" */
    const char *vobj; /* "o+0" */
};

struct kernel_termination {
    int64_t vat;
    bool reject;      /* with a failure */
    const char *info; /* capdata, JSON */
};

/* A syscall as both sides see it, JSON; the kernel's, valid until the next kernel_syscall(). */
struct kernel_syscall_texts {
    const char *vsc; /* what the vat asked */
    const char *ksc; /* the same in the kernel's references; "null" where it has no meaning */
    const char *ksr; /* ["ok",RESULT] or ["error",MESSAGE] */
    const char *vsr; /* what goes back to the vat */
};

/* Called in the order of the lines in SwingSet's slogfiles. Strings are valid during the call. Any
 * function may be NULL. */
struct kernel_listener {
    void *context;
    void (*crank_started)(void *context, const struct kernel_crank *crank);
    void (*clist_changed)(void *context, const struct kernel_clist_change *change);
    /* A syscall was translated and is executed next; only `vsc` and `ksc` are set. */
    void (*syscall_translated)(void *context, const struct kernel_syscall_texts *texts);
    /* A vat is terminated at the end of its delivery: `terminate` in the slog. */
    void (*vat_terminated)(void *context, const struct kernel_termination *termination);
    /* A terminated vat was cleaned up completely: `vat-cleanup` with `work` (JSON,
     * {"exports":N,...}) and `vat-cleanup-complete` in the slog. */
    void (*vat_cleaned_up)(void *context, int64_t vat, const char *work);
    /* A message for the user, one line. */
    void (*console)(void *context, const char *line);
};

/* Per-vat limits. Exceeding one terminates the vat at the same point on every machine. 0: no limit.
 */
struct kernel_limits {
    /* Enforced by the worker, per delivery. */
    int64_t compute;      /* computrons */
    int64_t instructions; /* of the machine */
    int64_t cost;         /* units of the compiled-in meter */
    /* The default for `instructions` in counted runs. */
    int64_t counted_instructions;
    int64_t metered_cost; /* the default for `cost` in metered runs */
    int64_t heap_bytes;   /* of the engine's heap, in the vat's life since its last snapshot */
    /* Enforced by the kernel. */
    int64_t syscalls;    /* in a delivery */
    int64_t store_bytes; /* size of the vatstore: keys and values */
    /* Of a message, an answer, a reason to exit or a call of a device: body and references;
     * of what it puts into its store: key and value. */
    int64_t message_bytes;
    /* In a delivery: the JSON of its syscalls and of their answers, as the transcript has it. 0 and
     * more than KERNEL_TRANSFER_MAX are that. */
    int64_t transfer_bytes;
};

/* Keeps entries of transcripts far below SQLite's limit of a gigabyte for a row. */
enum { KERNEL_TRANSFER_DEFAULT = 64 << 20, KERNEL_TRANSFER_MAX = 512 << 20 };

struct kernel_options {
    /*
     * For a store that is new; one that is not keeps what it has. How many
     * deliveries to a vat until it is sent bringOutYourDead (0: never), and how
     * many references told to it in dropExports, retireExports and
     * retireImports until then (0: never).
     */
    int64_t reap_interval;
    int64_t reap_gc_references;
    /* Of vats that are new; one that is in the store keeps those that it was made with. */
    struct kernel_limits limits;
    struct kernel_listener listener;
};

/* SwingSet's defaults. */
enum { KERNEL_REAP_INTERVAL = 1, KERNEL_REAP_GC_REFERENCES = 20 };

/*
 * The kernel of a store, which is borrowed for the kernel's life and gets a
 * fresh kernel's records where it has none; a transaction must be open. NULL with
 * ERROR_INPUT when the store's kernel is of another version.
 */
struct kernel *kernel_open(struct store *store, const struct kernel_options *options,
                           struct error *error);
void kernel_close(struct kernel *kernel); /* NULL is allowed */

/* ---- vats, devices, bundles ---- */

enum kernel_vat_runtime { KERNEL_VAT_PLAIN, KERNEL_VAT_LIVESLOTS };

struct kernel_vat_setup {
    const char *name;      /* letters, digits, '.', '_', '-'; at most KERNEL_NAME_LIMIT */
    const char *bundle_id; /* under which the caller has put the source into the store's bundles */
    enum kernel_vat_runtime runtime;
    /* vatParameters, smallcaps JSON without the '#' and without references; NULL: {} */
    const char *parameters;
    /* A device that is "$0" in these; NULL: none is. One of kernel_device(). */
    const char *device;
    /* Its runtime holds each delivery to a limit of its own, which the delivery brings: the limit
     * of computrons is not for it. */
    bool brings_limit;
};

/*
 * A static vat: made, with startVat queued, where there is none of that name. Where
 * there is one its bundle and runtime must be the same (ERROR_INPUT), also when it
 * has ended. The vat named "vatAdmin" is the one that is told of vats that others make,
 * as in SwingSet.
 */
int kernel_provide_vat(struct kernel *kernel, const struct kernel_vat_setup *setup, int64_t *vat,
                       struct error *error);

/* Calls take() with the name of each static vat that lives, in the order in which they were made.
 */
int kernel_vat_names(struct kernel *kernel, void (*take)(void *context, const char *name),
                     void *context, struct error *error);

/*
 * Queues the upgrade of a living vat to another source, which the caller has put into the store's
 * bundles, as vatAdmin queues one: the vat's next incarnation starts with it and keeps the vat's
 * store. An upgrade that fails leaves the vat as it was. ERROR_INPUT if the vat has another
 * runtime. *same: it has this source already, and nothing is queued.
 */
int kernel_upgrade(struct kernel *kernel, int64_t vat, const char *bundle_id,
                   enum kernel_vat_runtime runtime, bool *same, struct error *error);

/* Names a bundle, for vats that ask the vatAdmin device for it. */
int kernel_name_bundle(struct kernel *kernel, const char *name, const char *bundle_id,
                       struct error *error);

struct kernel_vat {
    int64_t id;
    char *name;      /* owned; "" for one that was made without */
    char *bundle_id; /* owned */
    enum kernel_vat_runtime runtime;
    bool dynamic;
    bool metered;        /* computrons of a delivery are limited and deducted from a meter */
    int64_t incarnation; /* from 0 */
    int64_t deliveries;  /* made to this incarnation: where its transcript ends */
    /* What to add to a position in the transcript for a delivery's number, since the last snapshot.
     */
    int64_t first_delivery;
    struct kernel_limits limits;
};

/* The vat of that number; *found: it lives. kernel_vat_free() where found. */
int kernel_vat_get(struct kernel *kernel, int64_t vat, struct kernel_vat *description, bool *found,
                   struct error *error);
void kernel_vat_free(struct kernel_vat *description);

/* The next living vat after that number, in order; 0 for the first. */
int kernel_vat_next(struct kernel *kernel, int64_t after, int64_t *vat, bool *found,
                    struct error *error);

/* The number of a static vat that lives. */
int kernel_vat_named(struct kernel *kernel, const char *name, int64_t *vat, bool *found,
                     struct error *error);

/* The root object of a static vat that lives; it is held reachable for good from then on. */
int kernel_root(struct kernel *kernel, const char *vat_name, char kref[KERNEL_REF_SIZE],
                bool *found, struct error *error);

/*
 * Devices that are built in: "clock" (SwingSet's timer device), "echo", "vatAdmin", and
 * "accounts", which gives contracts of NEAR the root objects of vats by their names. *found is
 * false for another name. The first time makes the device.
 */
int kernel_device(struct kernel *kernel, const char *device_name, char kref[KERNEL_REF_SIZE],
                  bool *found, struct error *error);

/* ---- work from outside ---- */

/*
 * Queues a message to an object or promise of the kernel. `methargs` is capdata,
 * {"body":"#[\"method\",[...]]","slots":[krefs]}. With `result` the message
 * has a promise for its result, which is written there and is kept until
 * kernel_forget_result(); NULL: none is wanted.
 */
int kernel_queue_message(struct kernel *kernel, const char *target, const json_t *methargs,
                         char result[KERNEL_REF_SIZE], struct error *error);

enum kernel_promise {
    KERNEL_PROMISE_UNRESOLVED,
    KERNEL_PROMISE_FULFILLED,
    KERNEL_PROMISE_REJECTED
};

/* How a promise stands; `data`, the capdata in JSON, is appended where it is settled. */
int kernel_promise_state(struct kernel *kernel, const char *promise, enum kernel_promise *state,
                         struct buf *data, struct error *error);
int kernel_forget_result(struct kernel *kernel, const char *promise, struct error *error);

/*
 * Sets the clock device's time, which cannot go back (ERROR_INPUT), and queues
 * the wake-ups that are due; *woken says whether there were any.
 */
int kernel_set_clock(struct kernel *kernel, int64_t now, bool *woken, struct error *error);

/* The echo device tells its listener, event(count, words); *heard: there is one. */
int kernel_trigger(struct kernel *kernel, const char *words, bool *heard, struct error *error);

/* Queues bringOutYourDead for every vat of the liveslots runtime. */
int kernel_reap_all(struct kernel *kernel, struct error *error);

/*
 * ---- quarantine, and what people decide ----
 *
 * Each is queued as the next crank, which has no delivery: its work item is in the crank's hash.
 * ERROR_INPUT where it cannot be. The vat lives.
 */

/* Holds the vat's work in its order; other vats continue. */
int kernel_quarantine(struct kernel *kernel, int64_t vat, const char *reason, struct error *error);

/* *quarantined: the vat is in quarantine; appends the reason. */
int kernel_quarantine_reason(struct kernel *kernel, int64_t vat, bool *quarantined,
                             struct buf *reason, struct error *error);

/* *is: the vat is in quarantine, or the work of one of the functions below is still queued. */
int kernel_vat_is_operated(struct kernel *kernel, int64_t vat, bool *is, struct error *error);

/* Ends the quarantine: what was held is delivered. from_start: the vat is restored by a replay of
 * all deliveries of its incarnation, and its snapshots are dropped. */
int kernel_release(struct kernel *kernel, int64_t vat, bool from_start, struct error *error);

/* The same without the first of it: a message's result is rejected. */
int kernel_skip_delivery(struct kernel *kernel, int64_t vat, struct error *error);

int kernel_terminate(struct kernel *kernel, int64_t vat, struct error *error);

/*
 * Changes a limit by its name ("compute", "instructions", "cost", "heap", "syscalls",
 * "store-bytes", "message-bytes", "transfer-bytes"); 0: none. Ends a quarantine as well. A limit of
 * what replays of the vat use cannot be less than what it has used.
 */
int kernel_set_limit(struct kernel *kernel, int64_t vat, const char *name, int64_t value,
                     struct error *error);

/* Queued work: `ready` can be done now; `waiting` are messages that wait for promises. */
struct kernel_queues {
    int64_t ready;
    int64_t waiting;
};
int kernel_queues(struct kernel *kernel, struct kernel_queues *queues, struct error *error);

/* ---- cranks ---- */

/* Strings and values are the kernel's, valid until kernel_end_delivery() or
 * kernel_abandon_crank(). */
struct kernel_delivery {
    int64_t vat;
    int64_t crank_num;
    int64_t
        delivery_num; /* counts over all incarnations, from 1, as in SwingSet without snapshots */
    int64_t incarnation;
    int64_t position;     /* in the transcript of this incarnation, from 0 */
    const char *dispatch; /* "message", "notify", "startVat", "bringOutYourDead", ... */
    const char *kd, *vd;  /* JSON: with the kernel's references, and with the vat's */
    const json_t *kd_value, *vd_value; /* the same, parsed */
    bool metered;
    /*
     * The first of its incarnation, startVat: wants a fresh worker with the vat's
     * bundle. A worker of the incarnation before it must be ended first; where the
     * crank is undone, the vat comes back from that incarnation's transcript.
     */
    bool starts_incarnation;
    bool creates_vat; /* it is the vat's very first */
};

/* How a crank ended. Arrays and strings are the kernel's, good until the next kernel_next(). */
struct kernel_crank_end {
    struct kernel_crank crank;
    char crankhash[KERNEL_HASH_SIZE];
    char activityhash[KERNEL_HASH_SIZE];
    /* What the delivery changed was undone. */
    bool undone;
    /*
     * Vats whose workers must be ended now. A vat among them that still lives
     * (kernel_vat_get()) comes back by replay when it is next delivered to.
     */
    const int64_t *stopped;
    size_t stopped_count;
    int64_t cleaned_up; /* the vat of which nothing is left now; else 0 */
};

enum kernel_work {
    KERNEL_IDLE,
    KERNEL_ROUTED,   /* a crank without a delivery, which has ended */
    KERNEL_DELIVERY, /* a crank with a delivery, under way */
};

struct kernel_step {
    enum kernel_work work;
    struct kernel_delivery delivery; /* with KERNEL_DELIVERY */
    struct kernel_crank_end end;     /* with KERNEL_ROUTED */
};

/*
 * Begins the next crank: routing of what was sent first, then cleaning up after
 * vats that ended, garbage collection, bringOutYourDead, then the run queue. Not
 * while a delivery is under way.
 */
int kernel_next(struct kernel *kernel, struct kernel_step *step, struct error *error);

enum kernel_verdict {
    KERNEL_OK,
    /*
     * The vat asked for what it may not: *error says why (ERROR_INPUT). Answer it
     * with texts.vsr or not at all, and end its worker; kernel_end_delivery() will
     * undo the delivery and end the vat.
     */
    KERNEL_ILLEGAL,
    KERNEL_BROKEN, /* ERROR_SYSTEM */
};

/*
 * Does a syscall of the delivery under way. It depends on nothing but what was
 * done before it, not on when it is called.
 */
enum kernel_verdict kernel_syscall(struct kernel *kernel, const struct vat_syscall *syscall,
                                   struct kernel_syscall_texts *texts, struct error *error);

/* For an invalid syscall: terminates the vat with `problem` at the end of its delivery. */
int kernel_illegal(struct kernel *kernel, const char *problem, struct error *error);

enum kernel_came {
    KERNEL_CAME_OK,    /* ["ok",null] */
    KERNEL_CAME_ERROR, /* ["error",PROBLEM]: the worker lives */
    KERNEL_CAME_DEAD,  /* the worker died, hung, passed a limit or sent what is no message */
};

struct kernel_outcome {
    enum kernel_came came;
    const char *problem;  /* NULL with KERNEL_CAME_OK; as in `dr`: "Compute meter exceeded" */
    int64_t compute;      /* computrons; -1: unknown */
    int64_t instructions; /* -1: not counted */
    /*
     * The caller means to write a snapshot of the worker after this: as in SwingSet
     * the crank goes on (`again`) with bringOutYourDead when the delivery stays, not
     * in upgrades, not to plain vats, and also when the vat asked to exit. Write it when
     * that one has ended and the vat is not among those to stop.
     */
    bool snapshot_follows;
    const char *fingerprint; /* of what counted, for the transcript; NULL: none */
};

struct kernel_delivery_end {
    /* The crank goes on with a second delivery (an upgrade), as after kernel_next(). */
    bool again;
    struct kernel_delivery delivery;
    struct kernel_crank_end end; /* else */
};

/*
 * Ends the delivery under way. What the vat did stays when it came OK. Else, or
 * after an illegal syscall, after exit with failure, and when the vat's meter is
 * overdrawn, it is undone, and then
 *   - a vat of the liveslots runtime ends with the problem as the reason,
 *   - a plain vat that answered with an error lives on: its message's result is
 *     rejected with the problem, and the delivery stays in its transcript,
 *   - an upgrade leaves the vat as it was before.
 */
int kernel_end_delivery(struct kernel *kernel, const struct kernel_outcome *outcome,
                        struct kernel_delivery_end *end, struct error *error);

/* Undoes the crank in progress, if any; its work is still queued. */
void kernel_abandon_crank(struct kernel *kernel);

/* ---- predicting deliveries ---- */

enum kernel_interest {
    KERNEL_PREDICT, /* predict this delivery */
    KERNEL_PASS,    /* skip it */
    KERNEL_ENOUGH,  /* skip it and stop */
};

/*
 * For a caller that starts deliveries before their turn. A prediction is the next delivery
 * to a vat as it would be if it came now. kernel_next() returns the true one: the prediction
 * was right only if vat, incarnation, position and vd are the same.
 */
struct kernel_prediction {
    void *context;
    /* Called for each queued item whose vat is known, in the order of the queue. */
    enum kernel_interest (*interest)(void *context, int64_t vat);
    /* The delivery's texts are the kernel's and valid during the call. */
    void (*predicted)(void *context, const struct kernel_delivery *delivery);
};

/*
 * Predicts deliveries from the first *items queued items, and subtracts the number of items
 * looked at. A delivery may be under way. Changes nothing.
 */
int kernel_predict(struct kernel *kernel, const struct kernel_prediction *prediction, size_t *items,
                   struct error *error);

/*
 * The same for a message that is not queued yet. queue() queues it into the kernel that it is
 * given, which is then undone; when it returns -1 there is no prediction, and its error is
 * dropped. Predicts only messages to plain vats: another vat may get something else first.
 * Does not call interest().
 */
int kernel_predict_unqueued(struct kernel *kernel, const struct kernel_prediction *prediction,
                            int (*queue)(void *context, struct kernel *kernel, struct error *error),
                            struct error *error);

/*
 * Predicts the answer to a syscall of a predicted delivery, as JSON in `answer` (emptied before).
 * Writes to the vat's store go to the overlay. *found is false where the answer cannot be
 * known yet. Illegal syscalls are not recognised here: kernel_syscall() sees them at the
 * delivery's turn, and its answer must equal the predicted one.
 */
int kernel_predict_syscall(struct overlay *overlay, const struct vat_syscall *syscall,
                           struct buf *answer, bool *found, struct error *error);

/*
 * Reads all of the state and compares it with the running hash that the last crank left
 * (kernel/records/crank_hash.h). -1 with ERROR_SYSTEM if it is another one. 0 also where the store
 * has no such hash yet.
 */
int kernel_require_state(struct kernel *kernel, struct error *error);

/* The number of the next crank, and the chain of hashes up to it. */
int kernel_position(struct kernel *kernel, int64_t *crank_num, char activityhash[KERNEL_HASH_SIZE],
                    struct error *error);

#endif
