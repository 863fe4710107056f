/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/vats/vat_state.h"

/* Calls a check with each state and each event, and the step between them. */
static void for_each_step(void (*check)(enum vat_state, enum vat_event, struct vat_step))
{
    for (enum vat_state state = 0; state < VAT_STATES; state++) {
        for (enum vat_event event = 0; event < VAT_EVENTS; event++)
            check(state, event, vat_step(state, event));
    }
}

static void is_in_the_enums(enum vat_state state, enum vat_event event, struct vat_step step)
{
    (void)state;
    (void)event;
    assert_in_range(step.next, 0, VAT_STATES - 1);
    assert_in_range(step.action, 0, VAT_ACTIONS - 1);
}

static void each_step_is_in_the_enums(void **state)
{
    (void)state;
    for_each_step(is_in_the_enums);
}

/* Each event in each state: the first letter below of the state that follows; -: it is forbidden.
 */
static const char letters[VAT_STATES] = {
    [VAT_NO_WORKER] = 'N',    [VAT_PREPARING] = 'P',  [VAT_STARTING] = 'S',   [VAT_LOADING] = 'L',
    [VAT_CATCHING_UP] = 'C',  [VAT_IDLE] = 'I',       [VAT_DELIVERING] = 'D', [VAT_STOPPING] = 'T',
    [VAT_SNAPSHOTTING] = 'W', [VAT_RESTARTING] = 'R', [VAT_LEAVING] = 'V',    [VAT_ENDING] = 'E',
};

/*
 * In the order of the events: WANTED; the frames DONE, FAILED, REQUEST, STOPPED; BAD, TIMEOUT,
 * GONE; PREPARED, UNSTARTED, FRESH, RESTORED, CAUGHT_UP; DELIVER, REFUSED, SNAPSHOT, EVICT.
 */
static const char *const following[VAT_STATES] = {
    [VAT_NO_WORKER] = "P--------N------N",    [VAT_PREPARING] = "--------SN------N",
    [VAT_STARTING] = "-SEESEEN-NLC----E",     [VAT_LOADING] = "-CELLEEN--------E",
    [VAT_CATCHING_UP] = "-CECCEEN----I---E",  [VAT_IDLE] = "-EEEEE-N-----D-WV",
    [VAT_DELIVERING] = "-IEDDEEN------T-E",   [VAT_STOPPING] = "-EEETEEN--------E",
    [VAT_SNAPSHOTTING] = "-REEWEEN--------E", [VAT_RESTARTING] = "-RRRRRRP--------V",
    [VAT_LEAVING] = "-VVVVVEN--------V",      [VAT_ENDING] = "-EEEEEEN--------E",
};

static void is_what_follows(enum vat_state state, enum vat_event event, struct vat_step step)
{
    const char found = step.action == VAT_ACT_FORBIDDEN ? '-' : letters[step.next];

    if (found != following[state][event])
        fail_msg("state %c, event %d: %c, not %c", letters[state], (int)event, found,
                 following[state][event]);
}

static void each_event_leads_to_one_state_or_is_forbidden(void **state)
{
    (void)state;
    for (int i = 0; i < VAT_STATES; i++)
        assert_int_equal(strlen(following[i]), VAT_EVENTS);
    for_each_step(is_what_follows);
}

static bool has_worker(enum vat_state state)
{
    return state != VAT_NO_WORKER && state != VAT_PREPARING;
}

/* Events of the worker, its process and the clock may come whenever there is a worker. */
static void worker_is_heard(enum vat_state state, enum vat_event event, struct vat_step step)
{
    const bool timed = state != VAT_IDLE || event != VAT_EVENT_TIMEOUT; /* an idle one is not */

    if (event >= VAT_EVENT_DONE && event <= VAT_EVENT_GONE)
        assert_int_equal(step.action != VAT_ACT_FORBIDDEN, has_worker(state) && timed);
}

static void each_thing_that_a_worker_does_is_decided_in_each_state(void **state)
{
    (void)state;
    for_each_step(worker_is_heard);
}

/* An action must fit the state that follows it. */
static void action_fits_state(enum vat_state state, enum vat_event event, struct vat_step step)
{
    static const enum vat_state next_state[VAT_ACTIONS] = {
        [VAT_ACT_PREPARE] = VAT_PREPARING,
        [VAT_ACT_START] = VAT_STARTING,
        [VAT_ACT_STARTED] = VAT_STARTING,
        [VAT_ACT_LOAD] = VAT_LOADING,
        [VAT_ACT_ANSWER_LOADING] = VAT_LOADING,
        [VAT_ACT_CATCH_UP] = VAT_CATCHING_UP,
        [VAT_ACT_ANSWER_RECORDED] = VAT_CATCHING_UP,
        [VAT_ACT_COMPARE] = VAT_CATCHING_UP,
        [VAT_ACT_READY] = VAT_IDLE,
        [VAT_ACT_DELIVER] = VAT_DELIVERING,
        [VAT_ACT_ANSWER] = VAT_DELIVERING,
        [VAT_ACT_STOP] = VAT_STOPPING,
        [VAT_ACT_FINISH] = VAT_IDLE,
        [VAT_ACT_SNAPSHOT] = VAT_SNAPSHOTTING,
        [VAT_ACT_RESTART] = VAT_RESTARTING,
        [VAT_ACT_AGAIN] = VAT_PREPARING,
        [VAT_ACT_KILL] = VAT_ENDING,
        [VAT_ACT_DISMISS] = VAT_ENDING,
        [VAT_ACT_HANG_UP] = VAT_LEAVING,
        [VAT_ACT_REAP] = VAT_NO_WORKER,
        [VAT_ACT_LOSE] = VAT_NO_WORKER,
        [VAT_ACT_FORGET] = VAT_NO_WORKER,
    };

    if (step.action == VAT_ACT_NOTE_STOP)
        assert_true(step.next == state && (state == VAT_DELIVERING || state == VAT_STOPPING));
    else if (state == VAT_RESTARTING && event == VAT_EVENT_EVICT)
        assert_int_equal(step.next, VAT_LEAVING);
    else if (step.action == VAT_ACT_NOTHING ||
             (state == VAT_RESTARTING && step.action == VAT_ACT_DISMISS))
        assert_int_equal(step.next, state);
    else if (step.action != VAT_ACT_FORBIDDEN)
        assert_int_equal(step.next, next_state[step.action]);
}

static void each_action_leads_to_its_state(void **state)
{
    (void)state;
    for_each_step(action_fits_state);
}

/* A reaped process is reaped once; and no vat with a worker is taken to have none. */
static void gone_is_away(enum vat_state state, enum vat_event event, struct vat_step step)
{
    const bool expected = state == VAT_ENDING || state == VAT_LEAVING;

    if (event == VAT_EVENT_GONE && state == VAT_RESTARTING)
        assert_int_equal(step.action, VAT_ACT_AGAIN);
    else if (event == VAT_EVENT_GONE && has_worker(state))
        assert_int_equal(step.action, expected ? VAT_ACT_FORGET : VAT_ACT_REAP);
    else if (event != VAT_EVENT_GONE && event != VAT_EVENT_UNSTARTED &&
             step.action != VAT_ACT_FORBIDDEN)
        assert_true(step.next != VAT_NO_WORKER || !has_worker(state));
}

static void only_its_end_leaves_a_vat_without_its_worker(void **state)
{
    (void)state;
    for_each_step(gone_is_away);
}

static void ending_is_left_only_by_gone(enum vat_state state, enum vat_event event,
                                        struct vat_step step)
{
    if (step.action == VAT_ACT_FORBIDDEN)
        return;
    if (state == VAT_ENDING && event != VAT_EVENT_GONE)
        assert_int_equal(step.next, VAT_ENDING);
    if (state == VAT_LEAVING && event != VAT_EVENT_GONE)
        assert_true(step.next == VAT_LEAVING ||
                    (event == VAT_EVENT_TIMEOUT && step.action == VAT_ACT_KILL));
    if (state == VAT_RESTARTING && event != VAT_EVENT_GONE)
        assert_true(step.next == VAT_RESTARTING || event == VAT_EVENT_EVICT);
    if (step.action == VAT_ACT_PREPARE)
        assert_int_equal(state, VAT_NO_WORKER);
    if (step.action == VAT_ACT_START)
        assert_int_equal(state, VAT_PREPARING);
}

static void a_worker_that_goes_is_waited_for(void **state)
{
    (void)state;
    for_each_step(ending_is_left_only_by_gone);
}

/* Without a frame that belongs there, a worker is not trusted on. */
static void nonsense_kills(enum vat_state state, enum vat_event event, struct vat_step step)
{
    bool live = state >= VAT_STARTING && state <= VAT_SNAPSHOTTING;
    bool may_ask = state == VAT_LOADING || state == VAT_CATCHING_UP || state == VAT_DELIVERING;
    bool unasked =
        (event == VAT_EVENT_REQUEST && !may_ask) || (event == VAT_EVENT_DONE && state == VAT_IDLE);

    if (live && (event == VAT_EVENT_BAD || event == VAT_EVENT_FAILED || unasked))
        assert_int_equal(step.action, VAT_ACT_KILL);
}

static void a_frame_out_of_turn_ends_the_worker(void **state)
{
    (void)state;
    for_each_step(nonsense_kills);
}

static void accepts_one_request_at_a_time(enum vat_state state, enum vat_event event,
                                          struct vat_step step)
{
    if (event == VAT_EVENT_DELIVER)
        assert_int_equal(step.action, state == VAT_IDLE ? VAT_ACT_DELIVER : VAT_ACT_FORBIDDEN);
    if (event == VAT_EVENT_SNAPSHOT)
        assert_int_equal(step.action, state == VAT_IDLE ? VAT_ACT_SNAPSHOT : VAT_ACT_FORBIDDEN);
    if (event == VAT_EVENT_REFUSED)
        assert_int_equal(step.action, state == VAT_DELIVERING ? VAT_ACT_STOP : VAT_ACT_FORBIDDEN);
}

static void only_an_idle_worker_takes_work(void **state)
{
    (void)state;
    for_each_step(accepts_one_request_at_a_time);
}

/* Its owner may evict a worker at any time, and wants one only without a worker. */
static void owner_may_evict(enum vat_state state, enum vat_event event, struct vat_step step)
{
    if (event == VAT_EVENT_EVICT)
        assert_int_not_equal(step.action, VAT_ACT_FORBIDDEN);
    if (event == VAT_EVENT_WANTED)
        assert_int_equal(step.action, state == VAT_NO_WORKER ? VAT_ACT_PREPARE : VAT_ACT_FORBIDDEN);
}

static void a_vat_can_be_evicted_at_any_time(void **state)
{
    (void)state;
    for_each_step(owner_may_evict);
}

struct life {
    enum vat_event event;
    enum vat_action action;
};

static void live(const struct life *life, size_t count, enum vat_state end)
{
    enum vat_state vat = VAT_NO_WORKER;

    for (size_t i = 0; i < count; i++) {
        struct vat_step step = vat_step(vat, life[i].event);

        assert_int_equal(step.action, life[i].action);
        vat = step.next;
    }
    assert_int_equal(vat, end);
}

static void vat_life_without_failure(void **state)
{
    static const struct life life[] = {
        {VAT_EVENT_WANTED, VAT_ACT_PREPARE},
        {VAT_EVENT_PREPARED, VAT_ACT_START},
        {VAT_EVENT_DONE, VAT_ACT_STARTED},
        {VAT_EVENT_FRESH, VAT_ACT_LOAD},
        {VAT_EVENT_REQUEST, VAT_ACT_ANSWER_LOADING},
        {VAT_EVENT_DONE, VAT_ACT_CATCH_UP},
        {VAT_EVENT_CAUGHT_UP, VAT_ACT_READY},
        {VAT_EVENT_DELIVER, VAT_ACT_DELIVER},
        {VAT_EVENT_REQUEST, VAT_ACT_ANSWER},
        {VAT_EVENT_REQUEST, VAT_ACT_ANSWER},
        {VAT_EVENT_DONE, VAT_ACT_FINISH},
        {VAT_EVENT_SNAPSHOT, VAT_ACT_SNAPSHOT},
        {VAT_EVENT_DONE, VAT_ACT_RESTART},
        {VAT_EVENT_GONE, VAT_ACT_AGAIN},
        {VAT_EVENT_PREPARED, VAT_ACT_START},
        {VAT_EVENT_DONE, VAT_ACT_STARTED},
        {VAT_EVENT_RESTORED, VAT_ACT_CATCH_UP},
        {VAT_EVENT_CAUGHT_UP, VAT_ACT_READY},
        {VAT_EVENT_EVICT, VAT_ACT_HANG_UP},
        {VAT_EVENT_GONE, VAT_ACT_FORGET},
    };

    (void)state;
    live(life, sizeof life / sizeof *life, VAT_NO_WORKER);
}

/* A worker that starts may hang: nothing waits for it without a timeout. */
static void a_start_that_is_given_up(void **state)
{
    static const struct life life[] = {
        {VAT_EVENT_WANTED, VAT_ACT_PREPARE}, {VAT_EVENT_PREPARED, VAT_ACT_START},
        {VAT_EVENT_EVICT, VAT_ACT_DISMISS},  {VAT_EVENT_GONE, VAT_ACT_FORGET},
        {VAT_EVENT_WANTED, VAT_ACT_PREPARE}, {VAT_EVENT_PREPARED, VAT_ACT_START},
        {VAT_EVENT_DONE, VAT_ACT_STARTED},   {VAT_EVENT_FRESH, VAT_ACT_LOAD},
        {VAT_EVENT_EVICT, VAT_ACT_DISMISS},  {VAT_EVENT_GONE, VAT_ACT_FORGET},
    };

    (void)state;
    live(life, sizeof life / sizeof *life, VAT_NO_WORKER);
}

static void a_life_that_is_brought_back(void **state)
{
    static const struct life life[] = {
        {VAT_EVENT_WANTED, VAT_ACT_PREPARE},
        {VAT_EVENT_PREPARED, VAT_ACT_START},
        {VAT_EVENT_DONE, VAT_ACT_STARTED},
        {VAT_EVENT_RESTORED, VAT_ACT_CATCH_UP},
        {VAT_EVENT_REQUEST, VAT_ACT_ANSWER_RECORDED},
        {VAT_EVENT_DONE, VAT_ACT_COMPARE},
        {VAT_EVENT_DONE, VAT_ACT_COMPARE},
        {VAT_EVENT_CAUGHT_UP, VAT_ACT_READY},
        {VAT_EVENT_DELIVER, VAT_ACT_DELIVER},
        {VAT_EVENT_GONE, VAT_ACT_REAP},
    };

    (void)state;
    live(life, sizeof life / sizeof *life, VAT_NO_WORKER);
}

static void a_life_that_ends_at_a_refused_syscall(void **state)
{
    static const struct life life[] = {
        {VAT_EVENT_WANTED, VAT_ACT_PREPARE},    {VAT_EVENT_PREPARED, VAT_ACT_START},
        {VAT_EVENT_DONE, VAT_ACT_STARTED},      {VAT_EVENT_RESTORED, VAT_ACT_CATCH_UP},
        {VAT_EVENT_CAUGHT_UP, VAT_ACT_READY},   {VAT_EVENT_DELIVER, VAT_ACT_DELIVER},
        {VAT_EVENT_REQUEST, VAT_ACT_ANSWER},    {VAT_EVENT_REFUSED, VAT_ACT_STOP},
        {VAT_EVENT_STOPPED, VAT_ACT_NOTE_STOP}, {VAT_EVENT_GONE, VAT_ACT_REAP},
    };

    (void)state;
    live(life, sizeof life / sizeof *life, VAT_NO_WORKER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_is_in_the_enums),
        cmocka_unit_test(each_event_leads_to_one_state_or_is_forbidden),
        cmocka_unit_test(each_thing_that_a_worker_does_is_decided_in_each_state),
        cmocka_unit_test(each_action_leads_to_its_state),
        cmocka_unit_test(only_its_end_leaves_a_vat_without_its_worker),
        cmocka_unit_test(a_worker_that_goes_is_waited_for),
        cmocka_unit_test(a_frame_out_of_turn_ends_the_worker),
        cmocka_unit_test(only_an_idle_worker_takes_work),
        cmocka_unit_test(a_vat_can_be_evicted_at_any_time),
        cmocka_unit_test(vat_life_without_failure),
        cmocka_unit_test(a_start_that_is_given_up),
        cmocka_unit_test(a_life_that_is_brought_back),
        cmocka_unit_test(a_life_that_ends_at_a_refused_syscall),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
