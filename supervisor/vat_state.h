/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VAT_STATE_H
#define GASPIPE_SUPERVISOR_VAT_STATE_H

/*
 * What happens to a vat: the one place where that is decided. The kernel turns
 * what the pipe, the process and the clock say into events, asks vat_step(),
 * and does the action.
 */
enum vat_state {
    VAT_STARTING,   /* its worker was started and evaluates the runtime */
    VAT_LOADING,    /* its worker was sent the contract */
    VAT_IDLE,       /* its worker waits for a delivery */
    VAT_DELIVERING, /* its worker was sent a delivery */
    VAT_ENDING,     /* it has ended; its worker was killed and is not reaped yet */
    VAT_CLOSING,    /* the run is over; its worker was told to end by itself */
    VAT_ENDED,      /* its worker is gone */
    VAT_STATES,
};

enum vat_event {
    VAT_EVENT_DONE,    /* a `.` frame */
    VAT_EVENT_FAILED,  /* a `!` frame */
    VAT_EVENT_REQUEST, /* a `?` frame */
    VAT_EVENT_BAD,     /* what came is no frame, no known frame, or senseless inside */
    VAT_EVENT_TIMEOUT, /* the worker took too long */
    VAT_EVENT_GONE,    /* the worker's process is reaped and its pipe read to the end */
    VAT_EVENT_DELIVER, /* the kernel has a delivery for it */
    VAT_EVENT_CLOSE,   /* the run is over */
    VAT_EVENTS,
};

enum vat_action {
    VAT_ACT_NOTHING,
    VAT_ACT_LOAD,     /* send the contract */
    VAT_ACT_READY,    /* its first delivery can come */
    VAT_ACT_DELIVER,  /* send the delivery */
    VAT_ACT_ANSWER,   /* do what is asked, and answer */
    VAT_ACT_FINISH,   /* the delivery has its result */
    VAT_ACT_KILL,     /* the vat has ended: note why, kill the worker */
    VAT_ACT_HANG_UP,  /* close the pipe, on which a worker ends by itself */
    VAT_ACT_BURY,     /* the vat has ended with its worker: note how the worker ended */
    VAT_ACT_FORGET,   /* the worker of a vat that had ended, or was closing, is gone */
    VAT_ACT_FORBIDDEN /* the kernel's own mistake: it never lets this happen */
};

struct vat_step {
    enum vat_state next;
    enum vat_action action;
};

/* Pure; `state` and `event` are below VAT_STATES and VAT_EVENTS. */
struct vat_step vat_step(enum vat_state state, enum vat_event event);

#endif
