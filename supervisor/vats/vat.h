/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_VAT_H
#define GASPIPE_SUPERVISOR_VATS_VAT_H

#include "supervisor/process/placement.h"
#include "supervisor/runtime/vat_runtime.h"
#include "supervisor/runtime/warm_start.h"
#include "supervisor/vats/rules/vat_frame.h"
#include "supervisor/vats/rules/vat_reason.h"
#include "supervisor/vats/rules/vat_state.h"
#include "supervisor/vats/vat_log.h"
#include "supervisor/vats/vat_replay.h"
#include "supervisor/vats/vat_timer.h"
#include "supervisor/vats/warehouse.h"

/* One vat and its worker. rules/vat_state.h decides what each event leads to. */

struct vat;

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

struct vat {
    struct vat_owner *owner;
    int64_t id;
    char *name, *bundle_id; /* owned */
    bool dynamic;
    int64_t incarnation;
    int64_t deliveries; /* of it, when the kernel described the vat last */
    struct kernel_limits limits;
    bool removed; /* freed when its worker is gone; the warehouse's */

    enum vat_state state;
    struct worker_process *process; /* NULL in AWAY and PREPARING */
    int last_cpu;                   /* that was reserved for a delivery of it; -1: none */
    bool reserves_cpu;              /* for the delivery in progress */
    struct vat_timer timer;
    struct vat_reason reason;          /* why its worker ended; empty: it did not */
    char stderr_line[VAT_REASON_SIZE]; /* that its worker printed last, and was not shown yet */

    bool wanted;        /* a worker is, once there is room for it; the warehouse's */
    uint64_t wanted_at; /* of the warehouse's wants, the last one of it */
    const char *vd;     /* of the delivery in hand, borrowed; NULL: none is */
    bool starts;        /* that is startVat */
    bool stopped;       /* its worker has told what that used up to where it was stopped, */
    struct meter used;  /* this; owned */
    struct stamp stopped_at;
    bool speculative; /* its worker was given it before its turn, and may have done it */

    struct vat_log log;
    struct buf bundle;          /* JSON; only while its worker starts */
    struct vat_runtime runtime; /* valid once its worker was prepared */
    int heap_fd;                /* of the snapshot that its worker starts from; -1: none */
    bool restored;              /* that is the vat's own */
    int fresh_fd; /* of its last snapshot, until its next worker starts; -1: it is in the store */
    int64_t saved_at; /* where its last snapshot stands in the transcript; -1: there is none */
    bool unproven;    /* no worker has started from its last snapshot yet, which is new */
    bool falls_back;  /* it is restored from the snapshot before its last one */
    struct vat_replay replay;
    struct stamp replay_sent; /* when the delivery that is replayed was sent */
};

/* NULL when memory ran out. The strings are copied; vat->name or bundle_id may be NULL, then. */
struct vat *vat_new(struct vat_owner *owner, const struct warehouse_vat *described);

/* It is AWAY; freed when the loop has closed its timer. */
void vat_close(struct vat *vat);

/* Its name for people: "v1" where it has none. */
static inline const char *vat_name(const struct vat *vat)
{
    return vat->name[0] != '\0' ? vat->name : vat->log.vat_id;
}

/* Does what the event leads to. An event of the vat's owner, or WANTED, PREPARED, UNSTARTED. */
void vat_happen(struct vat *vat, enum vat_event event);

/* Its worker is not wanted any more, nor what that is doing. */
void vat_put_away(struct vat *vat);

/* Its next worker starts from what the store has. */
void vat_drop_fresh(struct vat *vat);

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
