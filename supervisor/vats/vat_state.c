/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/vat_state.h"

#define STEP(next, action)                                                                         \
    {                                                                                              \
        VAT_##next, VAT_ACT_##action                                                               \
    }

/*
 * A worker speaks only when it was spoken to: a frame from an idle one is as bad
 * as one that cannot be read. What a killed or leaving worker still says is of no
 * interest; only its going is. A vat that is wanted while its worker goes gets
 * another one when that is gone.
 */
static const struct vat_step steps[VAT_STATES][VAT_EVENTS] =
    {
        [VAT_AWAY] =
            {
                [VAT_EVENT_WANTED] = STEP(STARTING, START),
                [VAT_EVENT_DONE] = STEP(AWAY, FORBIDDEN),
                [VAT_EVENT_FAILED] = STEP(AWAY, FORBIDDEN),
                [VAT_EVENT_REQUEST] = STEP(AWAY, FORBIDDEN),
                [VAT_EVENT_BAD] = STEP(AWAY, FORBIDDEN),
                [VAT_EVENT_TIMEOUT] = STEP(AWAY, FORBIDDEN),
                [VAT_EVENT_GONE] = STEP(AWAY, FORBIDDEN),
                [VAT_EVENT_STARTED] = STEP(AWAY, FORBIDDEN),
                [VAT_EVENT_RESTORED] = STEP(AWAY, FORBIDDEN),
                [VAT_EVENT_CAUGHT_UP] = STEP(AWAY, FORBIDDEN),
                [VAT_EVENT_DELIVER] = STEP(AWAY, FORBIDDEN),
                [VAT_EVENT_SAVE] = STEP(AWAY, FORBIDDEN),
                [VAT_EVENT_PUT_AWAY] = STEP(AWAY, NOTHING),
            },
        [VAT_STARTING] =
            {
                [VAT_EVENT_WANTED] = STEP(STARTING, NOTHING),
                [VAT_EVENT_DONE] = STEP(STARTING, EVALUATE),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(ENDING, KILL),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(AWAY, BURY),
                [VAT_EVENT_STARTED] = STEP(LOADING, LOAD),
                [VAT_EVENT_RESTORED] = STEP(REPLAYING, REPLAY),
                [VAT_EVENT_CAUGHT_UP] = STEP(STARTING, FORBIDDEN),
                [VAT_EVENT_DELIVER] = STEP(STARTING, FORBIDDEN),
                [VAT_EVENT_SAVE] = STEP(STARTING, FORBIDDEN),
                [VAT_EVENT_PUT_AWAY] = STEP(LEAVING, HANG_UP),
            },
        [VAT_LOADING] =
            {
                [VAT_EVENT_WANTED] = STEP(LOADING, NOTHING),
                [VAT_EVENT_DONE] = STEP(REPLAYING, LOADED),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(LOADING, ANSWER_LOADING),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(AWAY, BURY),
                [VAT_EVENT_STARTED] = STEP(LOADING, FORBIDDEN),
                [VAT_EVENT_RESTORED] = STEP(LOADING, FORBIDDEN),
                [VAT_EVENT_CAUGHT_UP] = STEP(LOADING, FORBIDDEN),
                [VAT_EVENT_DELIVER] = STEP(LOADING, FORBIDDEN),
                [VAT_EVENT_SAVE] = STEP(LOADING, FORBIDDEN),
                [VAT_EVENT_PUT_AWAY] = STEP(LEAVING, HANG_UP),
            },
        [VAT_REPLAYING] =
            {
                [VAT_EVENT_WANTED] = STEP(REPLAYING, NOTHING),
                [VAT_EVENT_DONE] = STEP(REPLAYING, COMPARE),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(REPLAYING, ANSWER_RECORDED),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(AWAY, BURY),
                [VAT_EVENT_STARTED] = STEP(REPLAYING, FORBIDDEN),
                [VAT_EVENT_RESTORED] = STEP(REPLAYING, FORBIDDEN),
                [VAT_EVENT_CAUGHT_UP] = STEP(IDLE, READY),
                [VAT_EVENT_DELIVER] = STEP(REPLAYING, FORBIDDEN),
                [VAT_EVENT_SAVE] = STEP(REPLAYING, FORBIDDEN),
                [VAT_EVENT_PUT_AWAY] = STEP(ENDING, KILL),
            },
        [VAT_IDLE] =
            {
                [VAT_EVENT_WANTED] = STEP(IDLE, NOTHING),
                [VAT_EVENT_DONE] = STEP(ENDING, KILL),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(ENDING, KILL),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(IDLE, FORBIDDEN),
                [VAT_EVENT_GONE] = STEP(AWAY, BURY),
                [VAT_EVENT_STARTED] = STEP(IDLE, FORBIDDEN),
                [VAT_EVENT_RESTORED] = STEP(IDLE, FORBIDDEN),
                [VAT_EVENT_CAUGHT_UP] = STEP(IDLE, FORBIDDEN),
                [VAT_EVENT_DELIVER] = STEP(DELIVERING, DELIVER),
                [VAT_EVENT_SAVE] = STEP(SAVING, SAVE),
                [VAT_EVENT_PUT_AWAY] = STEP(LEAVING, HANG_UP),
            },
        [VAT_DELIVERING] =
            {
                [VAT_EVENT_WANTED] = STEP(DELIVERING, NOTHING),
                [VAT_EVENT_DONE] = STEP(IDLE, FINISH),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(DELIVERING, ANSWER),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(AWAY, BURY),
                [VAT_EVENT_STARTED] = STEP(DELIVERING, FORBIDDEN),
                [VAT_EVENT_RESTORED] = STEP(DELIVERING, FORBIDDEN),
                [VAT_EVENT_CAUGHT_UP] = STEP(DELIVERING, FORBIDDEN),
                [VAT_EVENT_DELIVER] = STEP(DELIVERING, FORBIDDEN),
                [VAT_EVENT_SAVE] = STEP(DELIVERING, FORBIDDEN),
                [VAT_EVENT_PUT_AWAY] = STEP(ENDING, KILL),
            },
        [VAT_SAVING] =
            {
                [VAT_EVENT_WANTED] = STEP(SAVING, NOTHING),
                [VAT_EVENT_DONE] = STEP(LEAVING, SAVED),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(ENDING, KILL),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(AWAY, BURY),
                [VAT_EVENT_STARTED] = STEP(SAVING, FORBIDDEN),
                [VAT_EVENT_RESTORED] = STEP(SAVING, FORBIDDEN),
                [VAT_EVENT_CAUGHT_UP] = STEP(SAVING, FORBIDDEN),
                [VAT_EVENT_DELIVER] = STEP(SAVING, FORBIDDEN),
                [VAT_EVENT_SAVE] = STEP(SAVING, FORBIDDEN),
                [VAT_EVENT_PUT_AWAY] = STEP(ENDING, KILL),
            },
        [VAT_ENDING] =
            {
                [VAT_EVENT_WANTED] = STEP(ENDING, NOTHING),
                [VAT_EVENT_DONE] = STEP(ENDING, NOTHING),
                [VAT_EVENT_FAILED] = STEP(ENDING, NOTHING),
                [VAT_EVENT_REQUEST] = STEP(ENDING, NOTHING),
                [VAT_EVENT_BAD] = STEP(ENDING, NOTHING),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, NOTHING),
                [VAT_EVENT_GONE] = STEP(AWAY, FORGET),
                [VAT_EVENT_STARTED] = STEP(ENDING, FORBIDDEN),
                [VAT_EVENT_RESTORED] = STEP(ENDING, FORBIDDEN),
                [VAT_EVENT_CAUGHT_UP] = STEP(ENDING, FORBIDDEN),
                [VAT_EVENT_DELIVER] = STEP(ENDING, FORBIDDEN),
                [VAT_EVENT_SAVE] = STEP(ENDING, FORBIDDEN),
                [VAT_EVENT_PUT_AWAY] = STEP(ENDING, NOTHING),
            },
        [VAT_LEAVING] =
            {
                [VAT_EVENT_WANTED] = STEP(LEAVING, NOTHING),
                [VAT_EVENT_DONE] = STEP(LEAVING, NOTHING),
                [VAT_EVENT_FAILED] = STEP(LEAVING, NOTHING),
                [VAT_EVENT_REQUEST] = STEP(LEAVING, NOTHING),
                [VAT_EVENT_BAD] = STEP(LEAVING, NOTHING),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(AWAY, FORGET),
                [VAT_EVENT_STARTED] = STEP(LEAVING, FORBIDDEN),
                [VAT_EVENT_RESTORED] = STEP(LEAVING, FORBIDDEN),
                [VAT_EVENT_CAUGHT_UP] = STEP(LEAVING, FORBIDDEN),
                [VAT_EVENT_DELIVER] = STEP(LEAVING, FORBIDDEN),
                [VAT_EVENT_SAVE] = STEP(LEAVING, FORBIDDEN),
                [VAT_EVENT_PUT_AWAY] = STEP(LEAVING, NOTHING),
            },
};

struct vat_step vat_step(enum vat_state state, enum vat_event event)
{
    return steps[state][event];
}
