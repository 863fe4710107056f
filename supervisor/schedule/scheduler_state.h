/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_SCHEDULER_STATE_H
#define GASPIPE_SUPERVISOR_SCHEDULE_SCHEDULER_STATE_H

/* The scheduler as a table of states and events. Pure. */
enum scheduler_state {
    SCHEDULER_STARTING,     /* the vats' workers are brought to where their vats stand */
    SCHEDULER_READY,        /* the next crank may run */
    SCHEDULER_DELIVERING,   /* a crank's delivery is in progress, or waits for its worker */
    SCHEDULER_SNAPSHOTTING, /* the snapshot after the last crank is being written */
    SCHEDULER_RESTORING,    /* it was; the vat's next worker starts from it */
    SCHEDULER_PAUSED,       /* a host failure undid a crank, which runs again after a while */
    SCHEDULER_IDLE,         /* the kernel has nothing to do */
    SCHEDULER_FAILED,       /* the system failed */
    SCHEDULER_CLOSING,      /* all workers are to end */
    SCHEDULER_CLOSED,
    SCHEDULER_STATES,
    SCHEDULER_FORBIDDEN = SCHEDULER_STATES, /* of scheduler_step(): this never happens */
};

enum scheduler_event {
    SCHEDULER_EVENT_STARTED,     /* every vat has arrived, or cannot be started */
    SCHEDULER_EVENT_GO,          /* the owner has queued work */
    SCHEDULER_EVENT_DELIVERY,    /* the crank has a delivery, also a second one */
    SCHEDULER_EVENT_NOTHING,     /* the kernel has nothing to do; or the owner queues work first */
    SCHEDULER_EVENT_CRANK_ENDED, /* no snapshot is due after it; or its vat is in quarantine */
    SCHEDULER_EVENT_SNAPSHOT,    /* a snapshot is due after the crank, or again */
    SCHEDULER_EVENT_SAVED,       /* it is in the store */
    SCHEDULER_EVENT_RESTORED,    /* the next worker is ready, or its vat is in quarantine */
    SCHEDULER_EVENT_SNAPSHOT_LOST, /* its worker, or the next one, was lost; it is tried again */
    SCHEDULER_EVENT_CRANK_UNDONE,  /* by a host failure; it is tried again */
    SCHEDULER_EVENT_PAUSE_OVER,
    SCHEDULER_EVENT_FAILURE, /* the system failed */
    SCHEDULER_EVENT_CLOSE,   /* the owner ends it */
    SCHEDULER_EVENT_CLOSED,  /* all workers have ended */
    SCHEDULER_EVENTS,
};

/* The state that follows, or SCHEDULER_FORBIDDEN. */
enum scheduler_state scheduler_step(enum scheduler_state state, enum scheduler_event event);

#endif
