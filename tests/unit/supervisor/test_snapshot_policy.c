/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/schedule/snapshot_policy.h"

static const struct snapshot_policy usual = {.interval = 200, .initial = 3};

static void a_vats_first_snapshot_is_due_after_the_initial_deliveries(void **state)
{
    (void)state;
    assert_false(snapshot_policy_is_due(&usual, -1, 1));
    assert_true(snapshot_policy_is_due(&usual, -1, 2));
}

static void others_are_due_after_an_interval(void **state)
{
    (void)state;
    assert_false(snapshot_policy_is_due(&usual, 2, 200));
    assert_true(snapshot_policy_is_due(&usual, 2, 201));
}

static void without_an_interval_none_is_due(void **state)
{
    const struct snapshot_policy never = {.interval = 0, .initial = 3};

    (void)state;
    for (int64_t end = 0; end < 1000; end++)
        assert_false(snapshot_policy_is_due(&never, -1, end));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vats_first_snapshot_is_due_after_the_initial_deliveries),
        cmocka_unit_test(others_are_due_after_an_interval),
        cmocka_unit_test(without_an_interval_none_is_due),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
