/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULER_PARTS_H
#define GASPIPE_SUPERVISOR_SCHEDULER_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/schedule/ahead.h"
#include "supervisor/schedule/delivery_log.h"
#include "supervisor/schedule/scheduler.h"
#include "supervisor/vats/warehouse.h"

/* A vat that comes at the start. */
struct scheduler_coming {
    int64_t vat;
    bool brought;
};

/* How well a vat's deliveries are predicted. */
struct scheduler_trust {
    unsigned failures;  /* less those that were made good */
    unsigned successes; /* since the first failure */
    uint64_t passes;    /* so often it is passed over */
};

/* Deliveries before their turn. */
struct scheduler_ahead {
    struct ahead *list;             /* of different vats, the newest first */
    struct ahead *taken;            /* has its turn, and its worker goes on with it; or NULL */
    struct scheduler_trust *trusts; /* by vat */
    size_t trust_count, trust_capacity;

    /* Of the look that is taken. */
    bool busy;     /* the delivery that has its turn keeps a worker busy */
    size_t coming; /* the index of what is not queued yet */
    int64_t *met;  /* vats, so far */
    size_t met_count, met_capacity;
};

/* What the scheduler*.c files share: the scheduler from within. */
struct scheduler {
    struct scheduler_options options;
    struct scheduler_listener listener;
    struct kernel *kernel;
    struct warehouse *warehouse;
    struct delivery_log log;

    int64_t last_brought;            /* number of the last vat that was asked for, at the start */
    bool all_brought;                /* all were asked for */
    size_t coming;                   /* vats that are not brought yet, at the start */
    struct scheduler_coming *comers; /* all that were asked for, in their order */
    size_t comer_count, comer_capacity;
    size_t logged;   /* so many, and their lines are in the slog; the next one's go there at once */
    bool beginning;  /* nothing is committed before the new vats have started */
    bool delivering; /* the crank's delivery is with the warehouse */
    bool collecting; /* it is the bringOutYourDead before a snapshot */
    bool saving;     /* the vat's snapshot behind it is */
    bool failed, closing;
    bool going, more; /* within scheduler_go(), and there is another step for it */

    unsigned tries;              /* of the crank, or of bringing a vat, that met trouble in a row */
    uv_timer_t pause;            /* until the crank is tried again */
    uint64_t uncommitted_cranks; /* in the open transaction */

    struct stamp crank_started;
    int64_t crank_num;
    const struct vat_syscall *syscall; /* that the kernel has in hand, */
    struct stamp syscall_come;         /* and when it had come */
    bool vat_ended;                    /* with the delivery in hand */

    struct scheduler_ahead ahead; /* empty with one job */
};

void scheduler_fail(struct scheduler *scheduler, const struct error *error);

/* Tells the warehouse of a vat. */
int scheduler_provide(struct scheduler *scheduler, const struct kernel_vat *vat,
                      struct error *error);

/* The kernel has ended a crank. */
int scheduler_end_crank(struct scheduler *scheduler, const struct kernel_crank_end *end,
                        struct error *error);

/* Commits when enough cranks are in the transaction. -1 after scheduler_fail(). */
int scheduler_commit_when_full(struct scheduler *scheduler);

/* ---- scheduler_delivery.c: a crank's delivery, and what the warehouse tells of it ---- */

void scheduler_deliver(struct scheduler *scheduler, const struct kernel_delivery *delivery);

/* It has ended. */
void scheduler_finish(struct scheduler *scheduler, const struct delivery_log_end *end);

/* Answers a syscall of it that the kernel has done. */
void scheduler_answer(struct scheduler *scheduler, int64_t vat, const struct vat_syscall *syscall,
                      const struct kernel_syscall_texts *texts);

void scheduler_on_sent(void *context, int64_t vat, struct stamp sent);
void scheduler_on_said(void *context, int64_t vat, const struct vat_request *request,
                       struct stamp come);
void scheduler_on_asked(void *context, int64_t vat, const struct vat_request *request,
                        struct stamp come);
void scheduler_on_answered(void *context, int64_t vat, const struct warehouse_answer *told);
void scheduler_on_lost(void *context, int64_t vat, const struct warehouse_loss *loss);

/* ---- scheduler_ahead.c: deliveries before their turn ---- */

/* Begins with as many as there may be; `busy`: the one that has its turn keeps its worker busy. */
void scheduler_look_ahead(struct scheduler *scheduler, bool busy);

/* The one to the vat; NULL: there is none. */
struct ahead *scheduler_ahead_of(const struct scheduler *scheduler, int64_t vat);

/* The same, and drops it, with the vat's worker. */
void scheduler_forget_ahead(struct scheduler *scheduler, int64_t vat);

/*
 * What was done of the delivery that has its turn, the caller's until scheduler_adopt_ahead();
 * NULL: nothing. What was done instead of it is dropped.
 */
struct ahead *scheduler_take_ahead(struct scheduler *scheduler,
                                   const struct kernel_delivery *delivery);

/* Tells the kernel and the log, and goes on from there. Takes it over. */
void scheduler_adopt_ahead(struct scheduler *scheduler, struct ahead *ahead);

/* Its delivery has ended. */
void scheduler_let_taken_go(struct scheduler *scheduler);

/* What the warehouse tells of it. */
void scheduler_ahead_said(struct scheduler *scheduler, struct ahead *ahead,
                          const struct vat_request *request, struct stamp come);
void scheduler_ahead_asked(struct scheduler *scheduler, struct ahead *ahead,
                           const struct vat_request *request, struct stamp come);
void scheduler_ahead_answered(struct scheduler *scheduler, struct ahead *ahead,
                              const struct warehouse_answer *answer);
void scheduler_ahead_lost(struct scheduler *scheduler, struct ahead *ahead,
                          const struct warehouse_loss *loss);

void scheduler_free_ahead(struct scheduler *scheduler);

/* ---- scheduler_vats.c: vats that come, snapshots ---- */

/*
 * Whether a vat whose transcript ends there wants its next snapshot. As SwingSet counts:
 * the worker's start is one of the deliveries.
 */
bool scheduler_snapshot_is_due(const struct scheduler *scheduler, int64_t vat, int64_t end);

/* A vat that ended, or has to come back from before the crank: its worker is to go. */
int scheduler_stop_vat(struct scheduler *scheduler, int64_t vat, struct error *error);

/* The vat is where it should be at the start. */
void scheduler_brought(struct scheduler *scheduler, int64_t vat);

void scheduler_on_saved(void *context, int64_t vat);
void scheduler_on_ready(void *context, int64_t vat);

/* ---- scheduler_trouble.c ---- */

void scheduler_init_trouble(struct scheduler *scheduler);

/*
 * The host's trouble cost the vat's worker. What was under way is tried again, or given up
 * when it was often enough.
 */
void scheduler_meet_trouble(struct scheduler *scheduler, int64_t vat, const char *reason);

/* No more is tried. */
void scheduler_close_trouble(struct scheduler *scheduler);

/* ---- scheduler_slog.c: what the kernel tells while it works ---- */

struct kernel_listener scheduler_kernel_listener(struct scheduler *scheduler);

/* A console call, for the person at the terminal. */
void scheduler_print(const char *vat_name, const struct vat_console *console);

#endif
