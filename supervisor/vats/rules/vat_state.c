/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/rules/vat_state.h"

#define STEP(next, action)                                                                         \
    {                                                                                              \
        VAT_##next, VAT_ACT_##action                                                               \
    }

/*
 * A worker speaks only when it was spoken to: a frame from an idle one is as bad as one that
 * cannot be read. What a killed or leaving worker still says does not matter; only its end
 * does. A vat that is wanted while its worker ends gets another when that one is gone. What is
 * not listed is forbidden.
 */
static const struct vat_step steps[VAT_STATES][VAT_EVENTS] =
    {
        [VAT_AWAY] =
            {
                [VAT_EVENT_WANTED] = STEP(PREPARING, PREPARE),
                [VAT_EVENT_UNSTARTED] = STEP(AWAY, NOTHING),
                [VAT_EVENT_PUT_AWAY] = STEP(AWAY, NOTHING),
            },
        [VAT_PREPARING] =
            {
                [VAT_EVENT_WANTED] = STEP(PREPARING, NOTHING),
                [VAT_EVENT_PREPARED] = STEP(STARTING, START),
                [VAT_EVENT_UNSTARTED] = STEP(AWAY, LOSE),
                [VAT_EVENT_PUT_AWAY] = STEP(AWAY, FORGET),
            },
        [VAT_STARTING] =
            {
                [VAT_EVENT_WANTED] = STEP(STARTING, NOTHING),
                [VAT_EVENT_DONE] = STEP(STARTING, STARTED),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(ENDING, KILL),
                [VAT_EVENT_STOPPED] = STEP(STARTING, NOTHING),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(AWAY, REAP),
                [VAT_EVENT_UNSTARTED] = STEP(AWAY, LOSE),
                [VAT_EVENT_FRESH] = STEP(LOADING, LOAD),
                [VAT_EVENT_RESTORED] = STEP(REPLAYING, REPLAY),
                [VAT_EVENT_PUT_AWAY] = STEP(ENDING, DISMISS),
            },
        [VAT_LOADING] =
            {
                [VAT_EVENT_WANTED] = STEP(LOADING, NOTHING),
                [VAT_EVENT_DONE] = STEP(REPLAYING, REPLAY),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(LOADING, ANSWER_LOADING),
                [VAT_EVENT_STOPPED] = STEP(LOADING, NOTHING),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(AWAY, REAP),
                [VAT_EVENT_PUT_AWAY] = STEP(ENDING, DISMISS),
            },
        [VAT_REPLAYING] =
            {
                [VAT_EVENT_WANTED] = STEP(REPLAYING, NOTHING),
                [VAT_EVENT_DONE] = STEP(REPLAYING, COMPARE),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(REPLAYING, ANSWER_RECORDED),
                [VAT_EVENT_STOPPED] = STEP(REPLAYING, NOTHING),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(AWAY, REAP),
                [VAT_EVENT_CAUGHT_UP] = STEP(IDLE, READY),
                [VAT_EVENT_PUT_AWAY] = STEP(ENDING, KILL),
            },
        [VAT_IDLE] =
            {
                [VAT_EVENT_WANTED] = STEP(IDLE, NOTHING),
                [VAT_EVENT_DONE] = STEP(ENDING, KILL),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(ENDING, KILL),
                [VAT_EVENT_STOPPED] = STEP(ENDING, KILL),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(AWAY, REAP),
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
                [VAT_EVENT_STOPPED] = STEP(DELIVERING, NOTE_STOP),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(AWAY, REAP),
                [VAT_EVENT_REFUSED] = STEP(STOPPING, STOP),
                [VAT_EVENT_PUT_AWAY] = STEP(ENDING, KILL),
            },
        [VAT_STOPPING] =
            {
                [VAT_EVENT_WANTED] = STEP(STOPPING, NOTHING),
                [VAT_EVENT_DONE] = STEP(ENDING, KILL),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(ENDING, KILL),
                [VAT_EVENT_STOPPED] = STEP(STOPPING, NOTE_STOP),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(AWAY, REAP),
                [VAT_EVENT_PUT_AWAY] = STEP(ENDING, KILL),
            },
        [VAT_SAVING] =
            {
                [VAT_EVENT_WANTED] = STEP(SAVING, NOTHING),
                [VAT_EVENT_DONE] = STEP(LEAVING, SAVED),
                [VAT_EVENT_FAILED] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(ENDING, KILL),
                [VAT_EVENT_STOPPED] = STEP(SAVING, NOTHING),
                [VAT_EVENT_BAD] = STEP(ENDING, KILL),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(AWAY, REAP),
                [VAT_EVENT_PUT_AWAY] = STEP(ENDING, KILL),
            },
        [VAT_ENDING] =
            {
                [VAT_EVENT_WANTED] = STEP(ENDING, NOTHING),
                [VAT_EVENT_DONE] = STEP(ENDING, NOTHING),
                [VAT_EVENT_FAILED] = STEP(ENDING, NOTHING),
                [VAT_EVENT_REQUEST] = STEP(ENDING, NOTHING),
                [VAT_EVENT_STOPPED] = STEP(ENDING, NOTHING),
                [VAT_EVENT_BAD] = STEP(ENDING, NOTHING),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, NOTHING),
                [VAT_EVENT_GONE] = STEP(AWAY, FORGET),
                [VAT_EVENT_PUT_AWAY] = STEP(ENDING, NOTHING),
            },
        [VAT_LEAVING] =
            {
                [VAT_EVENT_WANTED] = STEP(LEAVING, NOTHING),
                [VAT_EVENT_DONE] = STEP(LEAVING, NOTHING),
                [VAT_EVENT_FAILED] = STEP(LEAVING, NOTHING),
                [VAT_EVENT_REQUEST] = STEP(LEAVING, NOTHING),
                [VAT_EVENT_STOPPED] = STEP(LEAVING, NOTHING),
                [VAT_EVENT_BAD] = STEP(LEAVING, NOTHING),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(AWAY, FORGET),
                [VAT_EVENT_PUT_AWAY] = STEP(LEAVING, NOTHING),
            },
};

struct vat_step vat_step(enum vat_state state, enum vat_event event)
{
    return steps[state][event];
}
