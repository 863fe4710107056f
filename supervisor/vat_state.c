/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vat_state.h"

#define STEP(next, action)                                                                         \
    {                                                                                              \
        VAT_##next, VAT_ACT_##action                                                               \
    }

/*
 * A worker speaks only when it was spoken to: a frame from an idle one is as bad
 * as one that cannot be read. What a killed or closing worker still says is of no
 * interest; only its going is.
 */
static const struct vat_step steps[VAT_STATES][VAT_EVENTS] =
    {
        [VAT_STARTING] =
            {
                [VAT_EVENT_DONE] = STEP(LOADING, LOAD),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(ENDING, KILL),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(ENDED, BURY),
                [VAT_EVENT_DELIVER] = STEP(STARTING, FORBIDDEN),
                [VAT_EVENT_CLOSE] = STEP(CLOSING, HANG_UP),
            },
        [VAT_LOADING] =
            {
                [VAT_EVENT_DONE] = STEP(IDLE, READY),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(ENDING, KILL),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(ENDED, BURY),
                [VAT_EVENT_DELIVER] = STEP(LOADING, FORBIDDEN),
                [VAT_EVENT_CLOSE] = STEP(CLOSING, HANG_UP),
            },
        [VAT_IDLE] =
            {
                [VAT_EVENT_DONE] = STEP(ENDING, KILL),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(ENDING, KILL),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(IDLE, FORBIDDEN),
                [VAT_EVENT_GONE] = STEP(ENDED, BURY),
                [VAT_EVENT_DELIVER] = STEP(DELIVERING, DELIVER),
                [VAT_EVENT_CLOSE] = STEP(CLOSING, HANG_UP),
            },
        [VAT_DELIVERING] =
            {
                [VAT_EVENT_DONE] = STEP(IDLE, FINISH),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(DELIVERING, ANSWER),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(ENDED, BURY),
                [VAT_EVENT_DELIVER] = STEP(DELIVERING, FORBIDDEN),
                [VAT_EVENT_CLOSE] = STEP(ENDING, KILL),
            },
        [VAT_ENDING] =
            {
                [VAT_EVENT_DONE] = STEP(ENDING, NOTHING),
                [VAT_EVENT_FAILED] = STEP(ENDING, NOTHING),
                [VAT_EVENT_REQUEST] = STEP(ENDING, NOTHING),
                [VAT_EVENT_BAD] = STEP(ENDING, NOTHING),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, NOTHING),
                [VAT_EVENT_GONE] = STEP(ENDED, FORGET),
                [VAT_EVENT_DELIVER] = STEP(ENDING, FORBIDDEN),
                [VAT_EVENT_CLOSE] = STEP(ENDING, NOTHING),
            },
        [VAT_CLOSING] =
            {
                [VAT_EVENT_DONE] = STEP(CLOSING, NOTHING),
                [VAT_EVENT_FAILED] = STEP(CLOSING, NOTHING),
                [VAT_EVENT_REQUEST] = STEP(CLOSING, NOTHING),
                [VAT_EVENT_BAD] = STEP(CLOSING, NOTHING),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(ENDED, FORGET),
                [VAT_EVENT_DELIVER] = STEP(CLOSING, FORBIDDEN),
                [VAT_EVENT_CLOSE] = STEP(CLOSING, NOTHING),
            },
        [VAT_ENDED] =
            {
                [VAT_EVENT_DONE] = STEP(ENDED, FORBIDDEN),
                [VAT_EVENT_FAILED] = STEP(ENDED, FORBIDDEN),
                [VAT_EVENT_REQUEST] = STEP(ENDED, FORBIDDEN),
                [VAT_EVENT_BAD] = STEP(ENDED, FORBIDDEN),
                [VAT_EVENT_TIMEOUT] = STEP(ENDED, FORBIDDEN),
                [VAT_EVENT_GONE] = STEP(ENDED, FORBIDDEN),
                [VAT_EVENT_DELIVER] = STEP(ENDED, FORBIDDEN),
                [VAT_EVENT_CLOSE] = STEP(ENDED, NOTHING),
            },
};

struct vat_step vat_step(enum vat_state state, enum vat_event event)
{
    return steps[state][event];
}
