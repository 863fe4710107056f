/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_CONDUCTOR_PARTS_H
#define GASPIPE_SUPERVISOR_CONDUCTOR_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/ahead.h"
#include "supervisor/conductor.h"
#include "supervisor/journal.h"
#include "supervisor/warehouse.h"

/* A vat that comes at the start. */
struct conductor_coming {
    int64_t vat;
    bool brought;
};

/* How well a vat's deliveries are foreseen. */
struct conductor_trust {
    unsigned failures;  /* less those that were made good */
    unsigned successes; /* since the first failure */
    uint64_t passes;    /* so often it is passed over */
};

/* Deliveries before their turn. */
struct conductor_ahead {
    struct ahead *list;             /* of different vats, the newest first */
    struct ahead *taken;            /* has its turn, and its worker goes on with it; or NULL */
    struct conductor_trust *trusts; /* by vat */
    size_t trust_count, trust_capacity;

    /* Of the look that is taken. */
    bool busy;     /* the delivery that has its turn keeps a worker busy */
    size_t coming; /* the index of what is not queued yet */
    int64_t *met;  /* vats, so far */
    size_t met_count, met_capacity;
};

/* What the conductor*.c files share: the conductor from within. */
struct conductor {
    struct conductor_options options;
    struct conductor_listener listener;
    struct kernel *kernel;
    struct warehouse *warehouse;
    struct journal journal;

    int64_t last_brought;            /* number of the last vat that was asked for, at the start */
    bool all_brought;                /* all were asked for */
    size_t coming;                   /* vats that are not brought yet, at the start */
    struct conductor_coming *comers; /* all that were asked for, in their order */
    size_t comer_count, comer_capacity;
    size_t logged;   /* so many, and their lines are in the slog; the next one's go there at once */
    bool beginning;  /* nothing is committed before the new vats have started */
    bool delivering; /* the crank's delivery is with the warehouse */
    bool collecting; /* it is the bringOutYourDead before a snapshot */
    bool saving;     /* the vat's snapshot behind it is */
    bool failed, closing;
    bool going, more; /* within conductor_go(), and there is another step for it */

    unsigned tries;        /* of the crank, or of bringing a vat, that met trouble in a row */
    uv_timer_t pause;      /* until the crank is tried again */
    uint64_t block_cranks; /* in the block that is open */

    struct stamp crank_started;
    int64_t crank_num;
    const struct vat_syscall *syscall; /* that the kernel has in hand, */
    struct stamp syscall_come;         /* and when it had come */
    bool vat_ended;                    /* with the delivery in hand */

    struct conductor_ahead ahead; /* empty with one job */
};

void conductor_fail(struct conductor *conductor, const struct error *error);

/* Tells the warehouse of a vat. */
int conductor_provide(struct conductor *conductor, const struct kernel_vat *vat,
                      struct error *error);

/* The kernel has ended a crank. */
int conductor_end_crank(struct conductor *conductor, const struct kernel_crank_end *end,
                        struct error *error);

/* Commits when the block has all its cranks. -1 after conductor_fail(). */
int conductor_commit_when_full(struct conductor *conductor);

/* ---- conductor_delivery.c: a crank's delivery, and what the warehouse tells of it ---- */

void conductor_deliver(struct conductor *conductor, const struct kernel_delivery *delivery);

/* It has ended. */
void conductor_finish(struct conductor *conductor, const struct journal_end *end);

/* Answers a syscall of it that the kernel has done. */
void conductor_answer(struct conductor *conductor, int64_t vat, const struct vat_syscall *syscall,
                      const struct kernel_syscall_texts *texts);

void conductor_on_sent(void *context, int64_t vat, struct stamp sent);
void conductor_on_said(void *context, int64_t vat, const struct vat_request *request,
                       struct stamp come);
void conductor_on_asked(void *context, int64_t vat, const struct vat_request *request,
                        struct stamp come);
void conductor_on_answered(void *context, int64_t vat, const struct warehouse_answer *told);
void conductor_on_lost(void *context, int64_t vat, const struct warehouse_loss *loss);

/* ---- conductor_ahead.c: deliveries before their turn ---- */

/* Begins with as many as there may be; `busy`: the one that has its turn keeps its worker busy. */
void conductor_look_ahead(struct conductor *conductor, bool busy);

/* The one to the vat; NULL: there is none. */
struct ahead *conductor_ahead_of(const struct conductor *conductor, int64_t vat);

/* The same, and drops it, with the vat's worker. */
void conductor_forget_ahead(struct conductor *conductor, int64_t vat);

/*
 * What was done of the delivery that has its turn, the caller's until conductor_adopt_ahead();
 * NULL: nothing. What was done instead of it is dropped.
 */
struct ahead *conductor_take_ahead(struct conductor *conductor,
                                   const struct kernel_delivery *delivery);

/* Tells the kernel and the journal, and goes on from there. Takes it over. */
void conductor_adopt_ahead(struct conductor *conductor, struct ahead *ahead);

/* Its delivery has ended. */
void conductor_let_taken_go(struct conductor *conductor);

/* What the warehouse tells of it. */
void conductor_ahead_said(struct conductor *conductor, struct ahead *ahead,
                          const struct vat_request *request, struct stamp come);
void conductor_ahead_asked(struct conductor *conductor, struct ahead *ahead,
                           const struct vat_request *request, struct stamp come);
void conductor_ahead_answered(struct conductor *conductor, struct ahead *ahead,
                              const struct warehouse_answer *answer);
void conductor_ahead_lost(struct conductor *conductor, struct ahead *ahead,
                          const struct warehouse_loss *loss);

void conductor_free_ahead(struct conductor *conductor);

/* ---- conductor_vats.c: vats that come, snapshots ---- */

/*
 * Whether a vat whose transcript ends there wants its next snapshot. As SwingSet counts:
 * the worker's start is one of the deliveries.
 */
bool conductor_snapshot_is_due(const struct conductor *conductor, int64_t vat, int64_t end);

/* A vat that ended, or has to come back from before the crank: its worker is to go. */
int conductor_stop_vat(struct conductor *conductor, int64_t vat, struct error *error);

/* The vat is where it should be at the start. */
void conductor_brought(struct conductor *conductor, int64_t vat);

void conductor_on_saved(void *context, int64_t vat);
void conductor_on_ready(void *context, int64_t vat);

/* ---- conductor_trouble.c ---- */

void conductor_init_trouble(struct conductor *conductor);

/*
 * The host's trouble cost the vat's worker. What was under way is tried again, or given up
 * when it was often enough.
 */
void conductor_meet_trouble(struct conductor *conductor, int64_t vat, const char *reason);

/* No more is tried. */
void conductor_close_trouble(struct conductor *conductor);

/* ---- conductor_slog.c: what the kernel tells while it works ---- */

struct kernel_listener conductor_kernel_listener(struct conductor *conductor);

/* A console call, for the person at the terminal. */
void conductor_print(const char *vat_name, const struct vat_console *console);

#endif
