/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/schedule/snapshot_policy.h"

static const struct snapshot_policy usual = {.interval = 200, .initial = 3};

static void the_first_is_near_one_delivery_before(void **state)
{
    (void)state;
    assert_false(snapshot_policy_is_near(&usual, -1, 0, 0));
    assert_true(snapshot_policy_is_near(&usual, -1, 1, 0));
    assert_true(snapshot_policy_is_due(&usual, -1, 2));
}

static void others_are_near_a_twentieth_of_the_interval_before(void **state)
{
    (void)state;
    assert_true(snapshot_policy_is_due(&usual, 2, 201));
    assert_false(snapshot_policy_is_due(&usual, 2, 200));
    assert_true(snapshot_policy_is_near(&usual, 2, 200, 0));
    assert_true(snapshot_policy_is_near(&usual, 2, 190, 0));
    assert_false(snapshot_policy_is_near(&usual, 2, 189, 0));
}

static void others_are_near_as_many_deliveries_before_as_are_wanted(void **state)
{
    (void)state;
    assert_true(snapshot_policy_is_near(&usual, 2, 150, 50));
    assert_false(snapshot_policy_is_near(&usual, 2, 149, 50));
    assert_true(snapshot_policy_is_near(&usual, 2, 190, 5)); /* no later than without */
    assert_true(snapshot_policy_is_near(&usual, 2, 3, INT32_MAX));
    assert_false(snapshot_policy_is_near(&usual, -1, 0, INT32_MAX)); /* a first one: as without */
}

static void without_snapshots_none_is_near(void **state)
{
    const struct snapshot_policy never = {.interval = 0, .initial = 3};

    (void)state;
    for (int64_t end = 0; end < 1000; end++)
        assert_false(snapshot_policy_is_near(&never, -1, end, end));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_near_one_delivery_before),
        cmocka_unit_test(others_are_near_a_twentieth_of_the_interval_before),
        cmocka_unit_test(others_are_near_as_many_deliveries_before_as_are_wanted),
        cmocka_unit_test(without_snapshots_none_is_near),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
