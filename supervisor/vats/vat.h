/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_VAT_H
#define GASPIPE_SUPERVISOR_VATS_VAT_H

#include "base/cpu_wait.h"
#include "supervisor/process/placement.h"
#include "supervisor/runtime/runtime_snapshot.h"
#include "supervisor/runtime/vat_runtime.h"
#include "supervisor/transcript/delivery_compare.h"
#include "supervisor/vats/vat_frame.h"
#include "supervisor/vats/vat_log.h"
#include "supervisor/vats/vat_state.h"
#include "supervisor/vats/warehouse.h"

/* One vat and its worker. vat_state.h decides what each event leads to. */

struct vat;

/* How long a worker may take for what it was sent. */
struct vat_timer {
    uv_timer_t handle; /* the owner closes it */
    void (*rang)(void *context);
    void *context;
    uint64_t limit_ms; /* as it was started with */
    uint64_t due;      /* when it is to ring, uv_now() */
    bool overdue;      /* it has rung once */
};

void vat_timer_init(struct vat_timer *timer, uv_loop_t *loop, void (*rang)(void *context),
                    void *context);

/* rang() is called from within the loop after that time; 0: never. */
void vat_timer_start(struct vat_timer *timer, uint64_t milliseconds);
void vat_timer_stop(struct vat_timer *timer);

/* The vats of one warehouse share this; the callbacks are the warehouse's. */
struct vat_owner {
    const struct warehouse_options *options;
    const struct warehouse_listener *listener; /* receives the vats' events */
    struct vat_runtimes runtimes;
    struct runtime_snapshots runtime_snapshots;
    struct vat_pending_lines pending; /* of snapshots that are being compressed */
    cpu_set_t reserved_cpus;          /* by deliveries in progress */
    struct cpu_wait cpu_wait;         /* of the thread */
    uint64_t exit_timeout_ms;         /* for a worker to end by itself */
    bool silent;                      /* reports no further event */
    void *context;
    /* The worker ended unexpectedly, or could not be started; vat->reason says why. */
    void (*lost)(void *context, struct vat *vat, enum vat_state before);
    /* Its worker has ended, or waits for work. */
    void (*settled)(void *context, struct vat *vat);
    /* The system failed. */
    void (*failed)(void *context, const struct error *error);
};

/* As the kernel described it last. */
struct vat_identity {
    int64_t id;
    char *name, *bundle_id; /* owned */
    bool dynamic;
    int64_t incarnation;
    int64_t deliveries; /* of this incarnation */
    struct kernel_limits limits;
};

/* The snapshot that its next worker starts from. */
struct vat_origin {
    enum {
        VAT_ORIGIN_RUNTIME,  /* the snapshot of a worker that has a runtime and no contract */
        VAT_ORIGIN_SNAPSHOT, /* the vat's own */
    } kind;
    int file; /* owned; -1: not open */
};

/* The delivery in progress, or the last one. */
struct vat_delivery {
    const char *text; /* VatDeliveryObject, borrowed; NULL: none is in progress */
    bool is_start;    /* startVat */
    enum {
        VAT_TURN_DUE,
        VAT_TURN_EARLY, /* its worker was given it before its turn, and may have finished it */
    } turn;
    bool stopped;      /* its worker has reported what it used up to where it was stopped, */
    struct meter used; /* this; owned */
    struct stamp stopped_at;
    bool was_long;                                   /* the vat's last one (meter_is_long()) */
    int64_t cpu_wait_before, worker_cpu_wait_before; /* as cpu_wait_begin() */
    struct stamp sent;
    int last_cpu;      /* that was reserved for a delivery of this vat; -1: none */
    bool reserves_cpu; /* for this delivery */
};

/* Deliveries of the vat's transcript, which its new worker is sent again. */
struct vat_replay {
    int64_t first_num;                 /* the number of the delivery at position 0 */
    int64_t position, end;             /* of the delivery in progress; after the last */
    struct recorded_delivery recorded; /* the delivery in progress */
    struct compare_rules rules;
    struct delivery_compare compare;
    struct stamp sent;  /* when it was sent */
    struct buf request; /* the worker's last one */
};

/* The next step once it has no worker. */
enum vat_then {
    VAT_THEN_NOTHING,
    VAT_THEN_START, /* start a worker as soon as --max-workers allows; or one is starting */
    VAT_THEN_FREE,  /* forget the vat */
};

struct vat {
    struct vat_owner *owner;
    struct vat_identity identity;
    enum vat_state state;
    enum vat_then then; /* START stays until its worker is ready */
    uint64_t wanted_at; /* of the warehouse's wants, the last one of it */

    struct worker_process *process; /* NULL in NO_WORKER and PREPARING */
    struct vat_timer timer;
    struct vat_reason reason;          /* why its worker ended; empty if it did not */
    char stderr_line[VAT_REASON_SIZE]; /* that its worker printed last, and was not shown yet */

    struct vat_log log;
    struct buf bundle;          /* JSON; only while its worker starts */
    struct vat_runtime runtime; /* valid once its worker was prepared */
    struct vat_origin origin;
    int64_t saved_at; /* where its last snapshot stands in the transcript; -1: it has none */
    bool unproven;    /* no worker has started from its last snapshot yet, which is new */
    bool falls_back;  /* it is restored from the snapshot before its last one */

    struct vat_delivery delivery;
    struct vat_replay replay;
};

/* NULL when memory ran out. The strings are copied; identity.name or bundle_id may be NULL, then.
 */
struct vat *vat_new(struct vat_owner *owner, const struct warehouse_vat *described);

/* It has no worker; freed when the loop has closed its timer. */
void vat_close(struct vat *vat);

/* Its name for messages: "v1" if it has none. */
static inline const char *vat_name(const struct vat *vat)
{
    return vat->identity.name[0] != '\0' ? vat->identity.name : vat->log.vat_id;
}

/* Its worker is ready, or not needed. */
static inline void vat_clear_start(struct vat *vat)
{
    if (vat->then == VAT_THEN_START)
        vat->then = VAT_THEN_NOTHING;
}

/* Takes an event of the vat's owner, or WANTED, PREPARED, UNSTARTED. */
void vat_handle_event(struct vat *vat, enum vat_event event);

/* Ends its worker and drops what that is doing. */
void vat_evict(struct vat *vat);

/* Closes its origin's file: its next worker starts from the store's snapshot. */
void vat_close_origin(struct vat *vat);

/* Refuses a request of its worker: notes why, and the blame as vat_loss() takes it; the worker
 * reports what the delivery used, and ends. */
void vat_refuse(struct vat *vat, enum error_kind blame, const char *reason);

/* Answers the request of its worker. When that was sent. */
struct stamp vat_reply(struct vat *vat, struct iovec answer);

/* Its worker has begun, and may have finished, a delivery that has not had its turn. */
bool vat_is_speculative(const struct vat *vat);

/* The runtime's snapshot that it waits for in PREPARING was made, or failed; READY: it may be asked
 * for again. */
void vat_prepare_again(struct vat *vat, enum runtime_snapshot_result result,
                       const struct error *error);

/* ---- for the files of struct vat ---- */

/* Actions run when the vat is in the next state; most return the event that they lead to, or
 * VAT_EVENT_NONE. */

struct vat_input {
    enum vat_event event;
    const struct vat_frame *frame; /* of DONE, FAILED, REQUEST, STOPPED; else empty */
    int exit_status;               /* of GONE */
    int signal_number;             /* of GONE; 0: none */
};

/* ---- vat_worker.c: its process ---- */

/* Reports an event of this vat to the warehouse's owner, unless that is to receive none. */
void vat_report(const struct vat *vat, const struct warehouse_event *event);

/* The system failed: notifies the owner, and returns VAT_EVENT_BAD. */
enum vat_event vat_fail(struct vat *vat, const struct error *error);

/* The vat cannot be restored; others are not affected. Notes the reason, and returns
 * VAT_EVENT_BAD. */
enum vat_event vat_lose_past(struct vat *vat, const struct error *error);

/* Starts a worker from the snapshot in this file; -1: from none. `policy`, which may be NULL, may
 * fork it. NULL with ERROR_SYSTEM. */
struct worker_process *vat_launch(const struct vat *vat, int snapshot_fd,
                                  struct zygote_policy *policy,
                                  const struct worker_listener *listener, struct error *error);

/* Sends a frame of that first byte. When it was sent. */
struct stamp vat_send_frame(struct vat *vat, char command, struct iovec payload);

/* Sends `?["deliver",VD]`. When it was sent. */
struct stamp vat_send_delivery(struct vat *vat, struct iovec vd);

void vat_answer_console(struct vat *vat);

/* The same, and closes its worker's pipe; the worker ends by itself, or is killed. */
void vat_leave(struct vat *vat);

/* Frees its worker's process, which has exited or was not started. */
void vat_release(struct vat *vat);

/* Shows the worker's last line of stderr. Drops it while the worker starts, as the reason of a
 * failure has it, and in a replay, as it was shown before. */
void vat_show_stderr(struct vat *vat);

/* ---- vat_start.c: from no worker to one with the contract ---- */

void vat_replay_free(struct vat_replay *replay);

enum vat_event vat_prepare(struct vat *vat);
/* After MAKING: its runtime's snapshot was made, or failed for this reason. */
enum vat_event vat_prepared(struct vat *vat, enum runtime_snapshot_result result,
                            const struct error *made);
/* `listener`: of the worker's process. */
enum vat_event vat_start(struct vat *vat, const struct worker_listener *listener);
enum vat_event vat_load(struct vat *vat);
enum vat_event vat_answer_loading(struct vat *vat, const struct vat_frame *frame);

/* ---- the same file: replays the transcript ---- */

enum vat_event vat_catch_up(struct vat *vat);
enum vat_event vat_answer_recorded(struct vat *vat, const struct vat_frame *frame);
enum vat_event vat_compare(struct vat *vat, const struct vat_frame *frame);
enum vat_event vat_ready(struct vat *vat);

/* ---- vat_snapshot.c ---- */

enum vat_event vat_snapshot(struct vat *vat);

/* Puts the snapshot into the store before the worker's DONE is accepted. Returns DONE, or BAD with
 * its reason. */
enum vat_event vat_keep_snapshot(struct vat *vat, struct iovec payload);
void vat_restart(struct vat *vat);

#endif
