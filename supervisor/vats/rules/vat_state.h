/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_RULES_VAT_STATE_H
#define GASPIPE_SUPERVISOR_VATS_RULES_VAT_STATE_H

/*
 * What happens to a vat's worker: the one place where that is decided. vat.c turns what the
 * pipe, the process, the clock and the vat's owner say into events, asks vat_step(), and does
 * the action. An action may lead to another event, never to another state.
 */
enum vat_state {
    VAT_AWAY,       /* it has no worker */
    VAT_PREPARING,  /* it waits for the snapshot that its worker is to start from */
    VAT_STARTING,   /* its worker was started from a snapshot */
    VAT_LOADING,    /* its worker was sent the contract */
    VAT_REPLAYING,  /* its worker is sent what the vat was sent before, and answered as then */
    VAT_IDLE,       /* its worker waits for a delivery */
    VAT_DELIVERING, /* its worker was sent a delivery */
    VAT_STOPPING,   /* its worker was told to say what the delivery used, and to end */
    VAT_SAVING,     /* its worker writes a snapshot */
    VAT_ENDING,     /* its worker was killed and is not reaped yet */
    VAT_LEAVING,    /* its worker was told to end by itself */
    VAT_STATES,
};

enum vat_event {
    VAT_EVENT_WANTED,    /* a delivery wants its worker */
    VAT_EVENT_DONE,      /* a `.` frame that answers what was sent */
    VAT_EVENT_FAILED,    /* a `!` frame */
    VAT_EVENT_REQUEST,   /* a `?` frame */
    VAT_EVENT_STOPPED,   /* an `x` frame: what it used up to its stop; its end follows */
    VAT_EVENT_BAD,       /* the worker is of no use: no frame, none that belongs here, or a lie;
                          * or the system failed what was under way */
    VAT_EVENT_TIMEOUT,   /* the worker took too long */
    VAT_EVENT_GONE,      /* the worker's process is reaped and its pipe read to the end */
    VAT_EVENT_PREPARED,  /* the snapshot to start from is there */
    VAT_EVENT_UNSTARTED, /* no worker can be started */
    VAT_EVENT_FRESH,     /* the runtime is there, the contract is not */
    VAT_EVENT_RESTORED,  /* it goes on from the vat's own snapshot: the contract is there */
    VAT_EVENT_CAUGHT_UP, /* nothing is left to replay */
    VAT_EVENT_DELIVER,   /* there is a delivery for it */
    VAT_EVENT_REFUSED,   /* what its worker asks for in the delivery cannot be, or makes no sense */
    VAT_EVENT_SAVE,      /* a snapshot is due */
    VAT_EVENT_PUT_AWAY,  /* its worker is not wanted any more */
    VAT_EVENTS,
    VAT_EVENT_NONE = VAT_EVENTS, /* no event at all */
};

enum vat_action {
    VAT_ACT_FORBIDDEN, /* our own mistake: this never happens */
    VAT_ACT_NOTHING,
    VAT_ACT_PREPARE,         /* look for the snapshot: PREPARED, UNSTARTED, or later one of them */
    VAT_ACT_START,           /* start a worker; UNSTARTED where that fails */
    VAT_ACT_STARTED,         /* FRESH or RESTORED */
    VAT_ACT_LOAD,            /* send the contract */
    VAT_ACT_ANSWER_LOADING,  /* answer a console call of the contract's loading; else BAD */
    VAT_ACT_REPLAY,          /* begin with the transcript's deliveries: send one, or CAUGHT_UP */
    VAT_ACT_ANSWER_RECORDED, /* compare what is asked, and answer as recorded; else BAD */
    VAT_ACT_COMPARE,         /* compare how the replayed delivery ended, and go on; else BAD */
    VAT_ACT_READY,           /* its next delivery can come */
    VAT_ACT_DELIVER,         /* send the delivery */
    VAT_ACT_ANSWER,          /* have done what is asked, and answer */
    VAT_ACT_STOP,            /* have its worker say what the delivery used, and end */
    VAT_ACT_NOTE_STOP,       /* keep what the delivery used up to where it was stopped */
    VAT_ACT_FINISH,          /* the delivery has its result */
    VAT_ACT_SAVE,            /* ask for a snapshot */
    VAT_ACT_SAVED,   /* it is in the store; the worker leaves, and one that starts from it comes */
    VAT_ACT_KILL,    /* note why, kill the worker, tell the loss */
    VAT_ACT_DISMISS, /* kill the worker, which has done nothing yet */
    VAT_ACT_HANG_UP, /* close the pipe, on which a worker ends by itself */
    VAT_ACT_REAP,    /* the worker ended by itself: note how, tell the loss */
    VAT_ACT_LOSE,    /* there was no worker: tell the loss */
    VAT_ACT_FORGET,  /* no worker is left, as was expected */
    VAT_ACTIONS,
};

struct vat_step {
    enum vat_state next;
    enum vat_action action;
};

/* Pure; `state` and `event` are below VAT_STATES and VAT_EVENTS. */
struct vat_step vat_step(enum vat_state state, enum vat_event event);

#endif
