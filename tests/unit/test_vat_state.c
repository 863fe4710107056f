/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/vat_state.h"

/* Calls a check with each state and each event, and the step between them. */
static void for_each_step(void (*check)(enum vat_state, enum vat_event, struct vat_step))
{
    for (enum vat_state state = 0; state < VAT_STATES; state++) {
        for (enum vat_event event = 0; event < VAT_EVENTS; event++)
            check(state, event, vat_step(state, event));
    }
}

static void is_decided(enum vat_state state, enum vat_event event, struct vat_step step)
{
    (void)event;
    assert_in_range(step.next, 0, VAT_STATES - 1);
    assert_in_range(step.action, 0, VAT_ACT_FORBIDDEN);
    if (step.action == VAT_ACT_FORBIDDEN)
        assert_int_equal(step.next, state);
}

static void every_state_knows_every_event(void **state)
{
    (void)state;
    for_each_step(is_decided);
}

/* What an action does, and the state behind it, must agree. */
static void action_fits_state(enum vat_state state, enum vat_event event, struct vat_step step)
{
    (void)event;
    switch (step.action) {
    case VAT_ACT_LOAD:
        assert_int_equal(step.next, VAT_LOADING);
        break;
    case VAT_ACT_READY:
    case VAT_ACT_FINISH:
        assert_int_equal(step.next, VAT_IDLE);
        break;
    case VAT_ACT_DELIVER:
    case VAT_ACT_ANSWER:
        assert_int_equal(step.next, VAT_DELIVERING);
        break;
    case VAT_ACT_KILL:
        assert_int_equal(step.next, VAT_ENDING);
        break;
    case VAT_ACT_HANG_UP:
        assert_int_equal(step.next, VAT_CLOSING);
        break;
    case VAT_ACT_BURY:
    case VAT_ACT_FORGET:
        assert_int_equal(step.next, VAT_ENDED);
        break;
    case VAT_ACT_NOTHING:
    case VAT_ACT_FORBIDDEN:
        assert_int_equal(step.next, state);
        break;
    }
}

static void each_action_leads_to_its_state(void **state)
{
    (void)state;
    for_each_step(action_fits_state);
}

/* A reaped process is reaped once: it ends the vat wherever it comes, once. */
static void gone_ends(enum vat_state state, enum vat_event event, struct vat_step step)
{
    bool ended_before = state == VAT_ENDING || state == VAT_CLOSING;

    if (event != VAT_EVENT_GONE)
        assert_true(step.next != VAT_ENDED || state == VAT_ENDED);
    else if (state == VAT_ENDED)
        assert_int_equal(step.action, VAT_ACT_FORBIDDEN);
    else
        assert_int_equal(step.action, ended_before ? VAT_ACT_FORGET : VAT_ACT_BURY);
}

static void only_the_workers_going_ends_a_vat_for_good(void **state)
{
    (void)state;
    for_each_step(gone_ends);
}

static void ending_is_left_only_by_gone(enum vat_state state, enum vat_event event,
                                        struct vat_step step)
{
    if (state == VAT_ENDING && event != VAT_EVENT_GONE)
        assert_int_equal(step.next, VAT_ENDING);
    if (state == VAT_ENDED)
        assert_int_equal(step.next, VAT_ENDED);
}

static void what_has_ended_never_comes_back(void **state)
{
    (void)state;
    for_each_step(ending_is_left_only_by_gone);
}

/* Without a frame that belongs there, a live vat's worker is not trusted on. */
static void nonsense_kills(enum vat_state state, enum vat_event event, struct vat_step step)
{
    bool live = state <= VAT_DELIVERING;
    bool unasked = event == VAT_EVENT_REQUEST && state != VAT_DELIVERING;
    bool idle_frame = state == VAT_IDLE && (event == VAT_EVENT_DONE || event == VAT_EVENT_FAILED);

    if (live && (event == VAT_EVENT_BAD || event == VAT_EVENT_FAILED || unasked || idle_frame))
        assert_int_equal(step.action, VAT_ACT_KILL);
}

static void a_frame_out_of_turn_ends_the_vat(void **state)
{
    (void)state;
    for_each_step(nonsense_kills);
}

static void one_delivery_at_a_time(enum vat_state state, enum vat_event event, struct vat_step step)
{
    if (event == VAT_EVENT_DELIVER)
        assert_int_equal(step.action, state == VAT_IDLE ? VAT_ACT_DELIVER : VAT_ACT_FORBIDDEN);
}

static void only_an_idle_vat_takes_a_delivery(void **state)
{
    (void)state;
    for_each_step(one_delivery_at_a_time);
}

static void a_life_without_trouble(void **state)
{
    static const struct {
        enum vat_event event;
        enum vat_action action;
    } life[] = {
        {VAT_EVENT_DONE, VAT_ACT_LOAD},       {VAT_EVENT_DONE, VAT_ACT_READY},
        {VAT_EVENT_DELIVER, VAT_ACT_DELIVER}, {VAT_EVENT_REQUEST, VAT_ACT_ANSWER},
        {VAT_EVENT_REQUEST, VAT_ACT_ANSWER},  {VAT_EVENT_DONE, VAT_ACT_FINISH},
        {VAT_EVENT_CLOSE, VAT_ACT_HANG_UP},   {VAT_EVENT_GONE, VAT_ACT_FORGET},
    };
    enum vat_state vat = VAT_STARTING;

    (void)state;
    for (size_t i = 0; i < sizeof life / sizeof *life; i++) {
        struct vat_step step = vat_step(vat, life[i].event);

        assert_int_equal(step.action, life[i].action);
        vat = step.next;
    }
    assert_int_equal(vat, VAT_ENDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_knows_every_event),
        cmocka_unit_test(each_action_leads_to_its_state),
        cmocka_unit_test(only_the_workers_going_ends_a_vat_for_good),
        cmocka_unit_test(what_has_ended_never_comes_back),
        cmocka_unit_test(a_frame_out_of_turn_ends_the_vat),
        cmocka_unit_test(only_an_idle_vat_takes_a_delivery),
        cmocka_unit_test(a_life_without_trouble),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
