/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/vat_state.h"

#include <stdarg.h>
#include <stdio.h>

#define STEP(next, action)                                                                         \
    {                                                                                              \
        VAT_##next, VAT_ACT_##action                                                               \
    }

/* A worker that fails, from its start to its snapshot. */
#define WORKER_FAILS                                                                               \
    [VAT_EVENT_FAILED] = STEP(ENDING, KILL), [VAT_EVENT_BAD] = STEP(ENDING, KILL),                 \
    [VAT_EVENT_GONE] = STEP(NO_WORKER, REAP)

/* A worker that is to end, or was killed: only its end matters. */
#define FRAMES_IGNORED(state)                                                                      \
    [VAT_EVENT_DONE] = STEP(state, NOTHING), [VAT_EVENT_FAILED] = STEP(state, NOTHING),            \
    [VAT_EVENT_REQUEST] = STEP(state, NOTHING), [VAT_EVENT_STOPPED] = STEP(state, NOTHING),        \
    [VAT_EVENT_BAD] = STEP(state, NOTHING)

/*
 * A worker sends a frame only after it was sent one: one from an idle worker is as bad as one that
 * cannot be read. What is not listed is forbidden.
 */
static const struct vat_step steps[VAT_STATES][VAT_EVENTS] =
    {
        [VAT_NO_WORKER] =
            {
                [VAT_EVENT_WANTED] = STEP(PREPARING, PREPARE),
                /* The report of why it cannot start may have evicted it. */
                [VAT_EVENT_UNSTARTED] = STEP(NO_WORKER, NOTHING),
                [VAT_EVENT_EVICT] = STEP(NO_WORKER, NOTHING),
            },
        [VAT_PREPARING] =
            {
                [VAT_EVENT_PREPARED] = STEP(STARTING, START),
                [VAT_EVENT_UNSTARTED] = STEP(NO_WORKER, LOSE),
                [VAT_EVENT_EVICT] = STEP(NO_WORKER, FORGET),
            },
        [VAT_STARTING] =
            {
                WORKER_FAILS,
                [VAT_EVENT_DONE] = STEP(STARTING, STARTED),
                [VAT_EVENT_REQUEST] = STEP(ENDING, KILL),
                [VAT_EVENT_STOPPED] = STEP(STARTING, NOTHING),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_UNSTARTED] = STEP(NO_WORKER, LOSE),
                [VAT_EVENT_FRESH] = STEP(LOADING, LOAD),
                [VAT_EVENT_RESTORED] = STEP(CATCHING_UP, CATCH_UP),
                [VAT_EVENT_EVICT] = STEP(ENDING, DISMISS),
            },
        [VAT_LOADING] =
            {
                WORKER_FAILS,
                [VAT_EVENT_DONE] = STEP(CATCHING_UP, CATCH_UP),
                [VAT_EVENT_REQUEST] = STEP(LOADING, ANSWER_LOADING),
                [VAT_EVENT_STOPPED] = STEP(LOADING, NOTHING),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_EVICT] = STEP(ENDING, DISMISS),
            },
        [VAT_CATCHING_UP] =
            {
                WORKER_FAILS,
                [VAT_EVENT_DONE] = STEP(CATCHING_UP, COMPARE),
                [VAT_EVENT_REQUEST] = STEP(CATCHING_UP, ANSWER_RECORDED),
                [VAT_EVENT_STOPPED] = STEP(CATCHING_UP, NOTHING),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_CAUGHT_UP] = STEP(IDLE, READY),
                [VAT_EVENT_EVICT] = STEP(ENDING, KILL),
            },
        [VAT_IDLE] =
            {
                WORKER_FAILS,
                [VAT_EVENT_DONE] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(ENDING, KILL),
                [VAT_EVENT_STOPPED] = STEP(ENDING, KILL),
                [VAT_EVENT_DELIVER] = STEP(DELIVERING, DELIVER),
                [VAT_EVENT_SNAPSHOT] = STEP(SNAPSHOTTING, SNAPSHOT),
                [VAT_EVENT_EVICT] = STEP(LEAVING, HANG_UP),
            },
        [VAT_DELIVERING] =
            {
                WORKER_FAILS,
                [VAT_EVENT_DONE] = STEP(IDLE, FINISH),
                [VAT_EVENT_REQUEST] = STEP(DELIVERING, ANSWER),
                [VAT_EVENT_STOPPED] = STEP(DELIVERING, NOTE_STOP),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_REFUSED] = STEP(STOPPING, STOP),
                [VAT_EVENT_EVICT] = STEP(ENDING, KILL),
            },
        [VAT_STOPPING] =
            {
                WORKER_FAILS,
                [VAT_EVENT_DONE] = STEP(ENDING, KILL),
                [VAT_EVENT_REQUEST] = STEP(ENDING, KILL),
                [VAT_EVENT_STOPPED] = STEP(STOPPING, NOTE_STOP),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_EVICT] = STEP(ENDING, KILL),
            },
        [VAT_SNAPSHOTTING] =
            {
                WORKER_FAILS,
                [VAT_EVENT_DONE] = STEP(RESTARTING, RESTART),
                [VAT_EVENT_REQUEST] = STEP(ENDING, KILL),
                [VAT_EVENT_STOPPED] = STEP(SNAPSHOTTING, NOTHING),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_EVICT] = STEP(ENDING, KILL),
            },
        [VAT_RESTARTING] =
            {
                FRAMES_IGNORED(RESTARTING),
                [VAT_EVENT_TIMEOUT] = STEP(RESTARTING, DISMISS),
                [VAT_EVENT_GONE] = STEP(PREPARING, AGAIN),
                [VAT_EVENT_EVICT] = STEP(LEAVING, NOTHING),
            },
        [VAT_LEAVING] =
            {
                FRAMES_IGNORED(LEAVING),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, KILL),
                [VAT_EVENT_GONE] = STEP(NO_WORKER, FORGET),
                [VAT_EVENT_EVICT] = STEP(LEAVING, NOTHING),
            },
        [VAT_ENDING] =
            {
                FRAMES_IGNORED(ENDING),
                [VAT_EVENT_TIMEOUT] = STEP(ENDING, NOTHING),
                [VAT_EVENT_GONE] = STEP(NO_WORKER, FORGET),
                [VAT_EVENT_EVICT] = STEP(ENDING, NOTHING),
            },
};

struct vat_step vat_step(enum vat_state state, enum vat_event event)
{
    return steps[state][event];
}

/* ---- why a worker ended ---- */

void __attribute__((format(printf, 3, 4)))
vat_reason_set(struct vat_reason *reason, enum error_kind blame, const char *format, ...)
{
    va_list args;

    if (reason->text[0] != '\0')
        return;
    reason->blame = blame;
    va_start(args, format);
    vsnprintf(reason->text, sizeof reason->text, format, args);
    va_end(args);
}

void __attribute__((format(printf, 2, 3)))
vat_reason_worker(struct vat_reason *reason, const char *format, ...)
{
    va_list args;

    if (reason->text[0] != '\0')
        return;
    reason->blame = ERROR_SYSTEM;
    reason->cause = VAT_CAUSE_WORKER;
    va_start(args, format);
    vsnprintf(reason->text, sizeof reason->text, format, args);
    va_end(args);
}

/* ---- what the loss of a worker means ---- */

static enum vat_loss of_host(enum vat_cause cause)
{
    switch (cause) {
    case VAT_CAUSE_MEMORY:
    case VAT_CAUSE_WORKER:
        return VAT_LOSS_SUSPECT;
    case VAT_CAUSE_CRASH:
    case VAT_CAUSE_TIME: /* a limit that takes minutes */
        return VAT_LOSS_ONCE;
    case VAT_CAUSE_OTHER:
    case VAT_CAUSE_NO_PROCESS:
        break;
    }
    return VAT_LOSS_HOST;
}

/* No vat's code runs up to LOADING: a worker that ends by itself then is of no use to any vat. What
 * a vat with a past needs to start is its own. */
static enum vat_loss while_starting(enum vat_state state, const struct vat_reason *reason,
                                    bool has_past)
{
    if (reason->blame == ERROR_INPUT)
        return VAT_LOSS_HOPELESS;
    if (reason->blame == ERROR_DELIVERY)
        return has_past ? VAT_LOSS_HOPELESS : VAT_LOSS_ENDS_VAT;
    if (!has_past)
        return state == VAT_LOADING && reason->cause != VAT_CAUSE_WORKER ? of_host(reason->cause)
                                                                         : VAT_LOSS_HOST;
    return reason->cause == VAT_CAUSE_OTHER ? VAT_LOSS_SUSPECT : of_host(reason->cause);
}

/* No code of the vat runs, but the snapshot is of its heap. An engine's limit is the same again. */
static enum vat_loss while_saving(const struct vat_reason *reason)
{
    if (reason->blame == ERROR_DELIVERY || reason->cause == VAT_CAUSE_CRASH ||
        reason->cause == VAT_CAUSE_TIME)
        return VAT_LOSS_ONCE;
    return VAT_LOSS_SUSPECT;
}

enum vat_loss vat_loss(enum vat_state state, const struct vat_reason *reason, bool has_past)
{
    switch (state) {
    case VAT_PREPARING:
    case VAT_STARTING:
    case VAT_LOADING:
    case VAT_CATCHING_UP:
        return while_starting(state, reason, has_past);
    case VAT_DELIVERING:
    case VAT_STOPPING:
        if (reason->blame == ERROR_INPUT)
            return VAT_LOSS_HOPELESS;
        return reason->blame == ERROR_DELIVERY ? VAT_LOSS_ENDS_VAT : of_host(reason->cause);
    case VAT_SNAPSHOTTING:
        return while_saving(reason);
    case VAT_IDLE:
        return VAT_LOSS_IDLE;
    case VAT_NO_WORKER:
    case VAT_RESTARTING:
    case VAT_ENDING:
    case VAT_LEAVING:
    case VAT_STATES:
        break;
    }
    return VAT_LOSS_NONE;
}
