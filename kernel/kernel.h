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
 * The kernel keeps objects and promises, records which vats may reach them, and decides the
 * next delivery. It is a state machine over a store: it starts no process, reads no clock
 * and waits for nothing. The caller sends deliveries to workers, passes their syscalls to
 * the kernel, and reports how each delivery ended.
 *
 * References, order of work, reference counting and records follow SwingSet's kernel (npm
 * @agoric/swingset-vat 0.33.0). Vats that receive the same messages and make the same
 * syscalls get the same references and deliveries under both. The records have SwingSet's
 * kvStore keys (`ko20.refCount`, `v1.c.o+0`, `runQueue`, ...), so tools for that kvStore can
 * read the store.
 *
 * Every call happens inside a transaction that the caller opened with
 * store_transaction_begin(). The caller commits it. One crank:
 *
 *     kernel_next(kernel, &step, error)
 *       KERNEL_IDLE       nothing to do until kernel_queue_message() or kernel_set_clock().
 *       KERNEL_ROUTED     the crank had no delivery and has ended; see step.end.
 *       KERNEL_DELIVERY   Send step.delivery.vd to the worker of step.delivery.vat.
 *                         Call kernel_syscall() for each of its syscalls.
 *                         Call kernel_end_delivery(). It ends the crank, or begins
 *                         the crank's second delivery (an upgrade).
 *
 * Functions that return int return 0, or -1 with the error filled. ERROR_INPUT: the caller's
 * argument is wrong. ERROR_SYSTEM: the store failed, its records are damaged, or memory is
 * exhausted. After ERROR_SYSTEM call kernel_abandon_crank() and roll the transaction back.
 */
struct kernel;

enum {
    KERNEL_REF_SIZE = 32,    /* "ko20", "kp40", "kd30", with its '\0' */
    KERNEL_HASH_SIZE = 65,   /* SHA-256, hex */
    KERNEL_NAME_LIMIT = 199, /* bytes of a vat's name */
};

/* ---- events that the kernel reports ---- */

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
    /* Size of one message, answer, exit reason or device call: body and references. Also of one
     * vatstore write: key and value. */
    int64_t message_bytes;
    /* Per delivery: JSON bytes of its syscalls and their answers, as in the transcript. 0 and
     * larger values mean KERNEL_TRANSFER_MAX. */
    int64_t transfer_bytes;
};

/* The entry of a transcript is one row, which SQLite has in memory up to three times: the most
 * keeps gaspipe below 300 MB. */
enum { KERNEL_TRANSFER_DEFAULT = 64 << 20, KERNEL_TRANSFER_MAX = 96 << 20 };

/* An engine has 40 MiB of heap at its start, and at most 2 GiB. */
#define KERNEL_HEAP_MIN ((int64_t)48 << 20)
#define KERNEL_HEAP_MAX ((int64_t)2 << 30)

struct kernel_options {
    /*
     * For a new store; an existing store keeps its values. A vat receives bringOutYourDead after
     * this many deliveries (0: never), or after dropExports, retireExports and retireImports
     * have named this many references (0: never).
     */
    int64_t reap_interval;
    int64_t reap_gc_references;
    /* For new vats; a vat in the store keeps the limits that it was created with. */
    struct kernel_limits limits;
    struct kernel_listener listener;
};

/* SwingSet's defaults. */
enum { KERNEL_REAP_INTERVAL = 1, KERNEL_REAP_GC_REFERENCES = 20 };

/*
 * Opens the kernel of a store, and writes the initial records if the store has none. The
 * store is borrowed until kernel_close(); a transaction must be open. NULL with ERROR_INPUT
 * if the records have another version.
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
    /* The device that "$0" stands for in `parameters`, as kernel_device() names it; NULL: none. */
    const char *device;
    /* SwingSet's reapInterval, reapGCKrefs and neverReap; NULL: none. */
    const json_t *creation_options;
    /*
     * The vat's runtime enforces a limit that each delivery carries, so `compute` does not
     * apply.
     */
    bool brings_limit;
};

/*
 * Creates a static vat of that name and queues its startVat. An existing or ended vat must
 * have the same bundle and runtime (ERROR_INPUT). The vat named "vatAdmin" is notified about
 * vats that other vats create, as in SwingSet.
 */
int kernel_provide_vat(struct kernel *kernel, const struct kernel_vat_setup *setup, int64_t *vat,
                       struct error *error);

/* Calls take() with the name of each living static vat, in order of creation. */
int kernel_vat_names(struct kernel *kernel, void (*take)(void *context, const char *name),
                     void *context, struct error *error);

/*
 * Queues an upgrade of a living vat, as vatAdmin does. The caller has put the new source
 * into the store's bundles. The next incarnation starts with it and keeps the vatstore; if
 * the upgrade fails, the vat stays as it was. ERROR_INPUT if the vat has another runtime.
 * *same: the vat already has this source, and nothing is queued.
 */
int kernel_upgrade(struct kernel *kernel, int64_t vat, const char *bundle_id,
                   enum kernel_vat_runtime runtime, bool *same, struct error *error);

/* Names a bundle, so that vats can get it from the vatAdmin device. */
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
    /*
     * Added to a transcript position, gives the delivery's number; valid since the last
     * snapshot.
     */
    int64_t first_delivery;
    struct kernel_limits limits;
    char *damage; /* owned; why its records cannot be read: only id and name are known; or NULL */
};

/* Describes a vat; *found: it lives. Call kernel_vat_free() if found. */
int kernel_vat_get(struct kernel *kernel, int64_t vat, struct kernel_vat *description, bool *found,
                   struct error *error);
void kernel_vat_free(struct kernel_vat *description);

/* Appends which of the vat's records is damaged, if any is; reads them all. */
int kernel_vat_damage(struct kernel *kernel, int64_t vat, struct buf *damage, struct error *error);

/* The next living vat after that number, in order; 0 for the first. */
int kernel_vat_next(struct kernel *kernel, int64_t after, int64_t *vat, bool *found,
                    struct error *error);

/* The number of a static vat that lives. */
int kernel_vat_named(struct kernel *kernel, const char *name, int64_t *vat, bool *found,
                     struct error *error);

/* Returns the root object of a living static vat, and pins it permanently. */
int kernel_root(struct kernel *kernel, const char *vat_name, char kref[KERNEL_REF_SIZE],
                bool *found, struct error *error);

/*
 * Returns the root of a built-in device, and creates the device on first use: "clock"
 * (SwingSet's timer device, also "timer"), "echo", "vatAdmin", or "accounts", which maps vat names
 * to root objects for NEAR contracts. *found is false for another name.
 */
int kernel_device(struct kernel *kernel, const char *device_name, char kref[KERNEL_REF_SIZE],
                  bool *found, struct error *error);

/* ---- work from outside ---- */

/*
 * Queues a message to an object or promise. `methargs` is capdata,
 * {"body":"#[\"method\",[...]]","slots":[krefs]}. If `result` is not NULL, the message gets
 * a result promise, which is written there and kept until kernel_forget_result().
 */
int kernel_queue_message(struct kernel *kernel, const char *target, const json_t *methargs,
                         char result[KERNEL_REF_SIZE], struct error *error);

enum kernel_promise {
    KERNEL_PROMISE_UNRESOLVED,
    KERNEL_PROMISE_FULFILLED,
    KERNEL_PROMISE_REJECTED
};

/* Reads a promise's state; appends its capdata, as JSON, if it is settled. */
int kernel_promise_state(struct kernel *kernel, const char *promise, enum kernel_promise *state,
                         struct buf *data, struct error *error);

/* Forgets a result promise. `retains`: the objects and promises in it stay, as if the host held
 * them, as after SwingSet's kpResolution(). */
int kernel_forget_result(struct kernel *kernel, const char *promise, bool retains,
                         struct error *error);

/* Sets the clock device's time, which cannot decrease (ERROR_INPUT), and queues the wake-ups that
 * are due. *woken: there were some. */
int kernel_set_clock(struct kernel *kernel, int64_t now, bool *woken, struct error *error);

/* Queues event(count, words) for the echo device's listener; *heard: it has one. */
int kernel_trigger(struct kernel *kernel, const char *words, bool *heard, struct error *error);

/* Queues bringOutYourDead for every vat of the liveslots runtime. */
int kernel_reap_all(struct kernel *kernel, struct error *error);

/*
 * ---- quarantine, and the operator's decisions ----
 *
 * Each function queues work for the next crank, which has no delivery; the work item is in
 * the crank's hash. ERROR_INPUT if the work is impossible. The vat must live.
 */

/* Holds the vat's work in its order; other vats continue. */
int kernel_quarantine(struct kernel *kernel, int64_t vat, const char *reason, struct error *error);

/* *quarantined: the vat is in quarantine; appends the reason. */
int kernel_quarantine_reason(struct kernel *kernel, int64_t vat, bool *quarantined,
                             struct buf *reason, struct error *error);

/* *is: the vat is in quarantine, or the work of one of the functions below is still queued. */
int kernel_vat_is_operated(struct kernel *kernel, int64_t vat, bool *is, struct error *error);

/* Ends the quarantine; the held work is delivered. from_start: drops the vat's snapshots, so that
 * it is restored by a replay of all deliveries of its incarnation. */
int kernel_release(struct kernel *kernel, int64_t vat, bool from_start, struct error *error);

/* Like kernel_release(), without the first held item; a message's result is rejected. */
int kernel_skip_delivery(struct kernel *kernel, int64_t vat, struct error *error);

int kernel_terminate(struct kernel *kernel, int64_t vat, struct error *error);

/*
 * Changes a limit by its name ("compute", "instructions", "cost", "heap", "syscalls",
 * "store-bytes", "message-bytes", "transfer-bytes"); 0: no limit. Also ends a quarantine. A
 * limit on what a delivery uses cannot be below what the vat's transcript has used.
 */
int kernel_set_limit(struct kernel *kernel, int64_t vat, const char *name, int64_t value,
                     struct error *error);

/* Queued work: `ready` items can run now; `waiting` counts messages to unresolved promises. */
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
    /* startVat of a new incarnation: start a worker with the vat's bundle, and end the previous
     * incarnation's worker first. If the crank is undone, replay that incarnation's transcript. */
    bool starts_incarnation;
    bool creates_vat; /* it is the vat's very first */
};

/* How a crank ended. Arrays and strings belong to the kernel, valid until kernel_next(). */
struct kernel_crank_end {
    struct kernel_crank crank;
    char crankhash[KERNEL_HASH_SIZE];
    char activityhash[KERNEL_HASH_SIZE];
    /* The changes of the delivery were undone. */
    bool undone;
    /* Vats whose workers the caller must end now. One that still lives (kernel_vat_get()) is
     * restored by replay before its next delivery. */
    const int64_t *stopped;
    size_t stopped_count;
    int64_t cleaned_up; /* the vat of which nothing is left now; else 0 */
};

enum kernel_work {
    KERNEL_IDLE,
    KERNEL_ROUTED,   /* a crank without a delivery, which has ended */
    KERNEL_DELIVERY, /* a crank whose delivery is in progress */
};

struct kernel_step {
    enum kernel_work work;
    struct kernel_delivery delivery; /* with KERNEL_DELIVERY */
    struct kernel_crank_end end;     /* with KERNEL_ROUTED */
};

/* Begins the next crank. The order is: routing sent messages, cleaning up terminated vats, garbage
 * collection, bringOutYourDead, the run queue. Not allowed during a delivery. */
int kernel_next(struct kernel *kernel, struct kernel_step *step, struct error *error);

enum kernel_verdict {
    KERNEL_OK,
    /* The vat broke a rule; *error has it (ERROR_INPUT). Answer with texts.vsr or not at all, and
     * end the worker. kernel_end_delivery() then undoes the delivery and terminates the vat. */
    KERNEL_ILLEGAL,
    KERNEL_BROKEN, /* ERROR_SYSTEM */
};

/* Performs a syscall of the current delivery. The result depends only on earlier calls, not on
 * time. */
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
     * The caller will write a snapshot after this delivery. As in SwingSet, the crank continues
     * (`again`) with bringOutYourDead if the delivery is kept, even if the vat asked to exit;
     * upgrades and plain vats are excluded. Write the snapshot after that second delivery,
     * unless the vat is in `stopped`.
     */
    bool snapshot_follows;
    const char *fingerprint; /* of what counted, for the transcript; NULL: none */
};

struct kernel_delivery_end {
    /* The crank continues with a second delivery (an upgrade), as after kernel_next(). */
    bool again;
    struct kernel_delivery delivery;
    struct kernel_crank_end end; /* else */
};

/*
 * Ends the current delivery. Its changes stay after KERNEL_CAME_OK. They are undone after
 * any other outcome, after an illegal syscall or exit with failure, and if the vat's meter
 * is overdrawn. Then:
 *
 *     - A liveslots vat is terminated, with the problem as the reason.
 *     - A plain vat that answered with an error lives on. Its message's result is rejected
 *       with the problem, and the transcript keeps the delivery.
 *     - An upgrade leaves the vat as it was before.
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
 * For callers that start deliveries before their turn. A prediction is the delivery that a
 * vat would get if its turn were now. kernel_next() returns the true delivery. The
 * prediction was right if vat, incarnation, position and vd are equal.
 */
struct kernel_prediction {
    void *context;
    /* Called for each queued item whose vat is known, in the order of the queue. */
    enum kernel_interest (*interest)(void *context, int64_t vat);
    /* The delivery's texts are the kernel's and valid during the call. */
    void (*predicted)(void *context, const struct kernel_delivery *delivery);
};

/* Predicts deliveries from the first *items queued items, and subtracts the number of items
 * inspected. Allowed during a delivery. Changes nothing. */
int kernel_predict(struct kernel *kernel, const struct kernel_prediction *prediction, size_t *items,
                   struct error *error);

/*
 * Like kernel_predict(), for a message that is not queued yet. queue() adds it to the kernel
 * that it receives, whose changes are undone afterwards. If it returns -1 there is no
 * prediction, and its error is dropped. Only messages to plain vats are predicted, because
 * another vat may get garbage collection first. Does not call interest().
 */
int kernel_predict_unqueued(struct kernel *kernel, const struct kernel_prediction *prediction,
                            int (*queue)(void *context, struct kernel *kernel, struct error *error),
                            struct error *error);

/*
 * Predicts the answer to a syscall of a predicted delivery, as JSON in `answer` (emptied
 * before). vatstore writes go to the overlay. *found is false if the answer cannot be known
 * yet. Illegal syscalls pass: kernel_syscall() rejects them at the delivery's turn, and its
 * answer must equal the predicted one.
 */
int kernel_predict_syscall(struct overlay *overlay, const struct vat_syscall *syscall,
                           struct buf *answer, bool *found, struct error *error);

/*
 * Reads the whole state and compares it with the running hash of the last crank
 * (kernel/records/crank_hash.h). -1 with ERROR_SYSTEM if they differ. 0 if the store has no
 * such hash yet.
 */
int kernel_require_state(struct kernel *kernel, struct error *error);

/* Returns the next crank's number and the chain of hashes up to it. */
int kernel_position(struct kernel *kernel, int64_t *crank_num, char activityhash[KERNEL_HASH_SIZE],
                    struct error *error);

#endif
