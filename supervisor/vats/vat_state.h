/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_VAT_STATE_H
#define GASPIPE_SUPERVISOR_VATS_VAT_STATE_H

#include <stdbool.h>

#include "base/error.h"

/* A vat's worker as a table of states and events, and what the loss of a worker means. Pure. */

/*
 * vat.c turns what the pipe, the process, the clock and the vat's owner report into events, asks
 * vat_step(), and does the action. An action may lead to another event, never to another state.
 * Whether a vat is in quarantine is in the kernel's records only: such a vat has NO_WORKER.
 */
enum vat_state {
    VAT_NO_WORKER,
    VAT_PREPARING,    /* it looks for the snapshot that its worker is to start from */
    VAT_STARTING,     /* its worker was started from a snapshot */
    VAT_LOADING,      /* its worker was sent the contract */
    VAT_CATCHING_UP,  /* its worker is sent what the vat was sent before, and answered as then */
    VAT_IDLE,         /* its worker waits for a delivery */
    VAT_DELIVERING,   /* its worker was sent a delivery */
    VAT_STOPPING,     /* its worker is to report what the delivery used, and to end */
    VAT_SNAPSHOTTING, /* its worker writes a snapshot */
    VAT_RESTARTING,   /* its worker wrote one and is to end by itself; another starts from it */
    VAT_LEAVING,      /* its worker is to end by itself */
    VAT_ENDING,       /* its worker was killed and has not exited yet */
    VAT_STATES,
};

enum vat_event {
    VAT_EVENT_WANTED,    /* a delivery wants its worker */
    VAT_EVENT_DONE,      /* a `.` frame that answers what was sent */
    VAT_EVENT_FAILED,    /* a `!` frame */
    VAT_EVENT_REQUEST,   /* a `?` frame */
    VAT_EVENT_STOPPED,   /* an `x` frame: what it used up to its stop; its end follows */
    VAT_EVENT_BAD,       /* the worker is of no use: no frame, none that belongs here, or a lie;
                          * or the system failed */
    VAT_EVENT_TIMEOUT,   /* the worker took too long */
    VAT_EVENT_GONE,      /* the worker's process is reaped and its pipe read to the end */
    VAT_EVENT_PREPARED,  /* the snapshot to start from is there */
    VAT_EVENT_UNSTARTED, /* no worker can be started */
    VAT_EVENT_FRESH,     /* the runtime is there, the contract is not */
    VAT_EVENT_RESTORED,  /* it started from the vat's own snapshot: the contract is there */
    VAT_EVENT_CAUGHT_UP, /* nothing is left to replay */
    VAT_EVENT_DELIVER,   /* there is a delivery for it */
    VAT_EVENT_REFUSED,   /* what its worker asks for in the delivery cannot be, or makes no sense */
    VAT_EVENT_SNAPSHOT,  /* a snapshot is due */
    VAT_EVENT_EVICT,     /* its worker is to end */
    VAT_EVENTS,
    VAT_EVENT_NONE = VAT_EVENTS, /* no event at all */
};

enum vat_action {
    VAT_ACT_FORBIDDEN, /* a bug in gaspipe */
    VAT_ACT_NOTHING,
    VAT_ACT_PREPARE,         /* look for the snapshot: PREPARED, UNSTARTED, or later one of them */
    VAT_ACT_START,           /* start a worker; UNSTARTED where that fails */
    VAT_ACT_STARTED,         /* FRESH or RESTORED */
    VAT_ACT_LOAD,            /* send the contract */
    VAT_ACT_ANSWER_LOADING,  /* answer a console call of the contract's loading; else BAD */
    VAT_ACT_CATCH_UP,        /* begin with the transcript's deliveries: send one, or CAUGHT_UP */
    VAT_ACT_ANSWER_RECORDED, /* compare what is asked, and answer as recorded; else BAD */
    VAT_ACT_COMPARE,         /* compare how the replayed delivery ended, and continue; else BAD */
    VAT_ACT_READY,           /* its next delivery can come */
    VAT_ACT_DELIVER,         /* send the delivery */
    VAT_ACT_ANSWER,          /* report the request; the owner answers */
    VAT_ACT_STOP,            /* have its worker report what the delivery used, and end */
    VAT_ACT_NOTE_STOP,       /* keep what the delivery used up to where it was stopped */
    VAT_ACT_FINISH,          /* the delivery has its result */
    VAT_ACT_SNAPSHOT,        /* ask for a snapshot */
    VAT_ACT_RESTART, /* it is in the store: close the pipe, on which the worker ends by itself */
    VAT_ACT_AGAIN,   /* that has ended: look for the snapshot, which is at hand */
    VAT_ACT_KILL,    /* note why, kill the worker, report the loss */
    VAT_ACT_DISMISS, /* kill the worker, which has done nothing yet */
    VAT_ACT_HANG_UP, /* close the pipe, on which a worker ends by itself */
    VAT_ACT_REAP,    /* the worker ended by itself: note how, report the loss */
    VAT_ACT_LOSE,    /* there was no worker: report the loss */
    VAT_ACT_FORGET,  /* no worker is left, as was expected */
    VAT_ACTIONS,
};

struct vat_step {
    enum vat_state next;
    enum vat_action action;
};

/* Pure; `state` and `event` are below VAT_STATES and VAT_EVENTS. */
struct vat_step vat_step(enum vat_state state, enum vat_event event);

/* ---- why a worker ended ---- */

/* Why a vat's worker ended before its time, and whose fault that was. */
enum { VAT_REASON_SIZE = 512 };

enum vat_cause {
    VAT_CAUSE_OTHER,
    VAT_CAUSE_TIME,       /* it took too long */
    VAT_CAUSE_MEMORY,     /* the host gave it no memory */
    VAT_CAUSE_CRASH,      /* a signal that a program's own fault raises */
    VAT_CAUSE_WORKER,     /* it ended by itself, or sent what answers nothing */
    VAT_CAUSE_NO_PROCESS, /* the host could not start one */
};

struct vat_reason {
    char text[VAT_REASON_SIZE]; /* "": none yet */
    enum error_kind blame;      /* as vat_loss() takes it */
    enum vat_cause cause;
};

/* Notes a reason, unless there is one: the first caused the others. */
void vat_reason_set(struct vat_reason *reason, enum error_kind blame, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Likewise, with ERROR_SYSTEM and VAT_CAUSE_WORKER. */
void vat_reason_worker(struct vat_reason *reason, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- what the loss of a worker means ---- */

/* Decides what an unexpected end of a vat's worker means. */
enum vat_loss {
    VAT_LOSS_NONE,     /* it was to end */
    VAT_LOSS_IDLE,     /* it was idle: it restarts at the next delivery */
    VAT_LOSS_ENDS_VAT, /* the vat's fault, reproducibly */
    VAT_LOSS_HOST,     /* a host failure: it is tried again */
    VAT_LOSS_SUSPECT,  /* the same; if it persists, the vat is to blame */
    VAT_LOSS_ONCE,     /* the same; the second time in a row, the vat is to blame */
    VAT_LOSS_HOPELESS, /* the vat cannot be restored: never tried again */
    VAT_LOSSES,
};

/*
 * `state` is the state it was in; reason->blame is ERROR_DELIVERY for the vat's fault, ERROR_SYSTEM
 * for the host's, and ERROR_INPUT if data that the vat needs is damaged or a replay differs.
 * `has_past`: the vat has deliveries to be restored from. Pure.
 */
enum vat_loss vat_loss(enum vat_state state, const struct vat_reason *reason, bool has_past);

#endif
