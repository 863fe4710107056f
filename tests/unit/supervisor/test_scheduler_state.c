/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/schedule/scheduler_state.h"

/* Each event in each state: the letter below of the state that follows; -: it is forbidden. */
static const char letters[SCHEDULER_STATES] = {
    [SCHEDULER_STARTING] = 'S', [SCHEDULER_READY] = 'R',        [SCHEDULER_DELIVERING] = 'D',
    [SCHEDULER_PAUSED] = 'P',   [SCHEDULER_SNAPSHOTTING] = 'W', [SCHEDULER_RESTORING] = 'T',
    [SCHEDULER_IDLE] = 'I',     [SCHEDULER_FAILED] = 'F',       [SCHEDULER_CLOSING] = 'C',
    [SCHEDULER_CLOSED] = 'E',
};

/*
 * In the order of the events: STARTED, GO; DELIVERY, NOTHING, CRANK_ENDED; SNAPSHOT, SAVED,
 * RESTORED, SNAPSHOT_LOST; CRANK_UNDONE, PAUSE_OVER; FAILURE, CLOSE, CLOSED.
 */
static const char *const following[SCHEDULER_STATES] = {
    [SCHEDULER_STARTING] = "R--I-------FC-",   [SCHEDULER_READY] = "-RDI-------FC-",
    [SCHEDULER_DELIVERING] = "--D-RW---P-FC-", [SCHEDULER_SNAPSHOTTING] = "-----WTRW--FC-",
    [SCHEDULER_RESTORING] = "-----W-RW--FC-",  [SCHEDULER_PAUSED] = "----------RFC-",
    [SCHEDULER_IDLE] = "-R---------FC-",       [SCHEDULER_FAILED] = "-F---------FC-",
    [SCHEDULER_CLOSING] = "-C---------CCE",    [SCHEDULER_CLOSED] = "-E---------EE-",
};

static void each_event_leads_to_one_state_or_is_forbidden(void **state)
{
    (void)state;
    for (int from = 0; from < SCHEDULER_STATES; from++) {
        assert_int_equal(strlen(following[from]), SCHEDULER_EVENTS);
        for (int event = 0; event < SCHEDULER_EVENTS; event++) {
            const enum scheduler_state next = scheduler_step(from, event);
            const char found = next == SCHEDULER_FORBIDDEN ? '-' : letters[next];

            if (found != following[from][event])
                fail_msg("state %c, event %d: %c, not %c", letters[from], event, found,
                         following[from][event]);
        }
    }
}

/* A stopped scheduler ignores requests. */
static void a_scheduler_that_has_stopped_runs_no_more(void **state)
{
    (void)state;
    for (int from = SCHEDULER_FAILED; from < SCHEDULER_STATES; from++) {
        for (int event = 0; event < SCHEDULER_EVENTS; event++)
            assert_true(scheduler_step(from, event) >= SCHEDULER_FAILED);
    }
}

static void live(const enum scheduler_event *events, size_t count, enum scheduler_state end)
{
    enum scheduler_state scheduler = SCHEDULER_STARTING;

    for (size_t i = 0; i < count; i++) {
        scheduler = scheduler_step(scheduler, events[i]);
        assert_int_not_equal(scheduler, SCHEDULER_FORBIDDEN);
    }
    assert_int_equal(scheduler, end);
}

static void a_run_with_a_snapshot_that_is_lost_once(void **state)
{
    static const enum scheduler_event events[] = {
        SCHEDULER_EVENT_STARTED,       SCHEDULER_EVENT_DELIVERY, SCHEDULER_EVENT_CRANK_UNDONE,
        SCHEDULER_EVENT_PAUSE_OVER,    SCHEDULER_EVENT_DELIVERY, SCHEDULER_EVENT_SNAPSHOT,
        SCHEDULER_EVENT_SNAPSHOT_LOST, SCHEDULER_EVENT_SNAPSHOT, SCHEDULER_EVENT_SAVED,
        SCHEDULER_EVENT_RESTORED,      SCHEDULER_EVENT_DELIVERY, SCHEDULER_EVENT_DELIVERY,
        SCHEDULER_EVENT_CRANK_ENDED,   SCHEDULER_EVENT_NOTHING,  SCHEDULER_EVENT_GO,
        SCHEDULER_EVENT_NOTHING,       SCHEDULER_EVENT_CLOSE,    SCHEDULER_EVENT_CLOSED,
    };

    (void)state;
    live(events, sizeof events / sizeof *events, SCHEDULER_CLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_event_leads_to_one_state_or_is_forbidden),
        cmocka_unit_test(a_scheduler_that_has_stopped_runs_no_more),
        cmocka_unit_test(a_run_with_a_snapshot_that_is_lost_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
