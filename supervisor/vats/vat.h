/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_VAT_H
#define GASPIPE_SUPERVISOR_VATS_VAT_H

#include "supervisor/process/placement.h"
#include "supervisor/runtime/vat_runtime.h"
#include "supervisor/runtime/warm_start.h"
#include "supervisor/vats/vat_frame.h"
#include "supervisor/vats/vat_log.h"
#include "supervisor/vats/vat_replay.h"
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

/* What the vats of one warehouse share, and whom they tell. */
struct vat_owner {
    const struct warehouse_options *options;
    const struct warehouse_listener *listener; /* told of what its deliveries ask and answer */
    struct vat_runtimes runtimes;
    struct warm_starts warm;
    struct vat_late_lines late; /* of the store's late snapshots */
    cpu_set_t reserved_cpus;    /* by deliveries in progress */
    uint64_t patience_ms;       /* for a worker to end by itself */
    bool silent;                /* the listener is told nothing any more */
    void *context;
    /* The worker ended before its time, or none came; why is in vat->reason. */
    void (*lost)(void *context, struct vat *vat, enum vat_state before);
    /* It has no worker any more. */
    void (*away)(void *context, struct vat *vat);
    /* Its worker waits for work. */
    void (*idle)(void *context, struct vat *vat);
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

/* What its next worker starts from. */
struct vat_origin {
    enum {
        VAT_ORIGIN_RUNTIME,  /* the snapshot of a worker that has a runtime and no contract */
        VAT_ORIGIN_SNAPSHOT, /* the vat's own */
    } kind;
    int file; /* owned; -1: it is not at hand */
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
    int last_cpu;      /* that was reserved for a delivery of this vat; -1: none */
    bool reserves_cpu; /* for this delivery */
};

/* What follows when it has no worker. */
enum vat_then {
    VAT_THEN_NOTHING,
    VAT_THEN_START, /* a worker is wanted, once there is room for it, or is on its way */
    VAT_THEN_FREE,  /* the vat is no more */
};

struct vat {
    struct vat_owner *owner;
    struct vat_identity identity;
    enum vat_state state;
    enum vat_then then; /* the warehouse's; START also until its worker is ready */
    uint64_t wanted_at; /* of the warehouse's wants, the last one of it */

    struct worker_process *process; /* NULL in NO_WORKER and PREPARING */
    struct vat_timer timer;
    struct vat_reason reason;          /* why its worker ended; empty: it did not */
    char stderr_line[VAT_REASON_SIZE]; /* that its worker printed last, and was not shown yet */

    struct vat_log log;
    struct buf bundle;          /* JSON; only while its worker starts */
    struct vat_runtime runtime; /* valid once its worker was prepared */
    struct vat_origin origin;
    int64_t saved_at; /* where its last snapshot stands in the transcript; -1: there is none */
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

/* Its name for people: "v1" where it has none. */
static inline const char *vat_name(const struct vat *vat)
{
    return vat->identity.name[0] != '\0' ? vat->identity.name : vat->log.vat_id;
}

/* No worker is wanted for it, or it is there. */
static inline void vat_is_wanted_no_more(struct vat *vat)
{
    if (vat->then == VAT_THEN_START)
        vat->then = VAT_THEN_NOTHING;
}

/* Does what the event leads to. An event of the vat's owner, or WANTED, PREPARED, UNSTARTED. */
void vat_handle_event(struct vat *vat, enum vat_event event);

/* Its worker is not wanted any more, nor what that is doing. */
void vat_evict(struct vat *vat);

/* Closes its origin's file: its next worker starts from what the store has. */
void vat_close_origin(struct vat *vat);

/* The request of its worker in the delivery is refused: notes why, and the worker tells what the
 * delivery used, and ends. */
void vat_refuse(struct vat *vat, const char *reason);

/* Answers the request of its worker. When that was sent. */
struct stamp vat_reply(struct vat *vat, struct iovec answer);

/* Its worker is there, and in or behind a delivery that has not had its turn. */
bool vat_is_speculative(const struct vat *vat);

/* The warm snapshot that it waits for in PREPARING was made, or failed; READY: it may be asked
 * for again. */
void vat_prepare_again(struct vat *vat, enum warm_start_result result, const struct error *error);

#endif
