/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/scheduler_state.h"

/* Ends by a failure and by the owner are the same in each state that runs. */
#define ENDS                                                                                       \
    [SCHEDULER_EVENT_FAILURE] = SCHEDULER_FAILED, [SCHEDULER_EVENT_CLOSE] = SCHEDULER_CLOSING

/* All but this table's SCHEDULER_STARTING is forbidden, which no event leads to: it is 0. */
static const enum scheduler_state following[SCHEDULER_STATES][SCHEDULER_EVENTS] = {
    [SCHEDULER_STARTING] =
        {
            [SCHEDULER_EVENT_STARTED] = SCHEDULER_READY,
            [SCHEDULER_EVENT_NOTHING] = SCHEDULER_IDLE,
            ENDS,
        },
    [SCHEDULER_READY] =
        {
            [SCHEDULER_EVENT_GO] = SCHEDULER_READY,
            [SCHEDULER_EVENT_DELIVERY] = SCHEDULER_DELIVERING,
            [SCHEDULER_EVENT_NOTHING] = SCHEDULER_IDLE,
            ENDS,
        },
    [SCHEDULER_DELIVERING] =
        {
            [SCHEDULER_EVENT_DELIVERY] = SCHEDULER_DELIVERING,
            [SCHEDULER_EVENT_CRANK_ENDED] = SCHEDULER_READY,
            [SCHEDULER_EVENT_SNAPSHOT] = SCHEDULER_SNAPSHOTTING,
            [SCHEDULER_EVENT_CRANK_UNDONE] = SCHEDULER_PAUSED,
            ENDS,
        },
    [SCHEDULER_SNAPSHOTTING] =
        {
            [SCHEDULER_EVENT_SNAPSHOT] = SCHEDULER_SNAPSHOTTING,
            [SCHEDULER_EVENT_SAVED] = SCHEDULER_RESTORING,
            [SCHEDULER_EVENT_RESTORED] = SCHEDULER_READY,
            [SCHEDULER_EVENT_SNAPSHOT_LOST] = SCHEDULER_SNAPSHOTTING,
            ENDS,
        },
    [SCHEDULER_RESTORING] =
        {
            [SCHEDULER_EVENT_SNAPSHOT] = SCHEDULER_SNAPSHOTTING,
            [SCHEDULER_EVENT_RESTORED] = SCHEDULER_READY,
            [SCHEDULER_EVENT_SNAPSHOT_LOST] = SCHEDULER_SNAPSHOTTING,
            ENDS,
        },
    [SCHEDULER_PAUSED] =
        {
            [SCHEDULER_EVENT_PAUSE_OVER] = SCHEDULER_READY,
            ENDS,
        },
    [SCHEDULER_IDLE] =
        {
            [SCHEDULER_EVENT_GO] = SCHEDULER_READY,
            ENDS,
        },
    [SCHEDULER_FAILED] =
        {
            [SCHEDULER_EVENT_GO] = SCHEDULER_FAILED,
            [SCHEDULER_EVENT_FAILURE] = SCHEDULER_FAILED, /* the first is reported */
            [SCHEDULER_EVENT_CLOSE] = SCHEDULER_CLOSING,
        },
    [SCHEDULER_CLOSING] =
        {
            [SCHEDULER_EVENT_GO] = SCHEDULER_CLOSING,
            [SCHEDULER_EVENT_FAILURE] = SCHEDULER_CLOSING, /* it ends anyway */
            [SCHEDULER_EVENT_CLOSE] = SCHEDULER_CLOSING,
            [SCHEDULER_EVENT_CLOSED] = SCHEDULER_CLOSED,
        },
    [SCHEDULER_CLOSED] =
        {
            [SCHEDULER_EVENT_GO] = SCHEDULER_CLOSED,
            [SCHEDULER_EVENT_FAILURE] =
                SCHEDULER_CLOSED, /* of what was on the stack as it closed */
            [SCHEDULER_EVENT_CLOSE] = SCHEDULER_CLOSED,
        },
};

enum scheduler_state scheduler_step(enum scheduler_state state, enum scheduler_event event)
{
    const enum scheduler_state next = following[state][event];

    return next == SCHEDULER_STARTING ? SCHEDULER_FORBIDDEN : next;
}
