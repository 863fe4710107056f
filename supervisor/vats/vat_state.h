/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VAT_STATE_H
#define GASPIPE_SUPERVISOR_VAT_STATE_H

/*
 * What happens to a vat's worker: the one place where that is decided. The
 * warehouse turns what the pipe, the process, the clock and its owner say into
 * events, asks vat_step(), and does the action.
 */
enum vat_state {
    VAT_AWAY,       /* it has no worker */
    VAT_STARTING,   /* its worker was started, fresh or from a snapshot */
    VAT_LOADING,    /* its worker was sent the contract */
    VAT_REPLAYING,  /* its worker is sent what the vat was sent before, and answered as then */
    VAT_IDLE,       /* its worker waits for a delivery */
    VAT_DELIVERING, /* its worker was sent a delivery */
    VAT_SAVING,     /* its worker writes a snapshot */
    VAT_ENDING,     /* its worker was killed and is not reaped yet */
    VAT_LEAVING,    /* its worker was told to end by itself */
    VAT_STATES,
};

enum vat_event {
    VAT_EVENT_WANTED,    /* a delivery wants its worker */
    VAT_EVENT_DONE,      /* a `.` frame */
    VAT_EVENT_FAILED,    /* a `!` frame */
    VAT_EVENT_REQUEST,   /* a `?` frame */
    VAT_EVENT_BAD,       /* what came is no frame, no known frame, or senseless inside */
    VAT_EVENT_TIMEOUT,   /* the worker took too long */
    VAT_EVENT_GONE,      /* the worker's process is reaped and its pipe read to the end */
    VAT_EVENT_STARTED,   /* the runtime is there, the contract is not */
    VAT_EVENT_RESTORED,  /* it goes on from the vat's own snapshot: the contract is there */
    VAT_EVENT_CAUGHT_UP, /* nothing is left to replay */
    VAT_EVENT_DELIVER,   /* there is a delivery for it */
    VAT_EVENT_SAVE,      /* a snapshot is due */
    VAT_EVENT_PUT_AWAY,  /* its worker is not wanted any more */
    VAT_EVENTS,
};

enum vat_action {
    VAT_ACT_NOTHING,
    VAT_ACT_START,    /* start a worker */
    VAT_ACT_EVALUATE, /* send what its runtime still lacks; else STARTED or RESTORED happens */
    VAT_ACT_LOAD,     /* send the contract */
    VAT_ACT_ANSWER_LOADING,  /* answer a console call of the contract's loading */
    VAT_ACT_LOADED,          /* see whether it was taken, and replay */
    VAT_ACT_REPLAY,          /* send the next delivery of the transcript; else CAUGHT_UP happens */
    VAT_ACT_ANSWER_RECORDED, /* compare what is asked, and answer as recorded */
    VAT_ACT_COMPARE,         /* compare how the replayed delivery ended, and go on as REPLAY */
    VAT_ACT_READY,           /* its next delivery can come */
    VAT_ACT_DELIVER,         /* send the delivery */
    VAT_ACT_ANSWER,          /* have done what is asked, and answer */
    VAT_ACT_FINISH,          /* the delivery has its result */
    VAT_ACT_SAVE,            /* ask for a snapshot */
    VAT_ACT_SAVED,     /* keep the snapshot; the worker leaves, and one that starts from it comes */
    VAT_ACT_KILL,      /* note why, kill the worker */
    VAT_ACT_HANG_UP,   /* close the pipe, on which a worker ends by itself */
    VAT_ACT_BURY,      /* the worker ended by itself: note how */
    VAT_ACT_FORGET,    /* the worker of which that was expected is gone */
    VAT_ACT_FORBIDDEN, /* the warehouse's own mistake: it never lets this happen */
    VAT_ACTIONS,
};

struct vat_step {
    enum vat_state next;
    enum vat_action action;
};

/* Pure; `state` and `event` are below VAT_STATES and VAT_EVENTS. */
struct vat_step vat_step(enum vat_state state, enum vat_event event);

#endif
