/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/schedule/policy.h"

static struct policy_decision decide(bool in_crank, unsigned tries, uint64_t retries)
{
    return policy_after_loss(&(struct policy_loss){
        .in_crank = in_crank, .kind = VAT_LOSS_HOST, .tries = tries, .retries = retries});
}

static void a_crank_is_tried_again_after_growing_pauses(void **state)
{
    (void)state;
    for (unsigned tries = 1; tries <= 4; tries++) {
        const struct policy_decision retry = decide(true, tries, 4);

        assert_int_equal(retry.action, POLICY_AGAIN);
        assert_int_equal(retry.pause_ms, 50u << (tries - 1));
    }
    assert_int_equal(decide(true, 5, 4).action, POLICY_GIVE_UP);
}

static void a_worker_is_started_again_at_once(void **state)
{
    (void)state;
    assert_int_equal(decide(false, 1, 1).action, POLICY_AGAIN);
    assert_int_equal(decide(false, 1, 1).pause_ms, 0);
    assert_int_equal(decide(false, 2, 1).action, POLICY_GIVE_UP);
}

static void no_retries_means_the_first_host_failure_is_final(void **state)
{
    (void)state;
    assert_int_equal(decide(true, 1, 0).action, POLICY_GIVE_UP);
}

static void the_pause_stops_growing(void **state)
{
    (void)state;
    assert_int_equal(decide(true, 17, UINT64_MAX).pause_ms,
                     decide(true, 1000, UINT64_MAX).pause_ms);
}

/* Each kind of loss with 0 to 3 retries: how many tries there are, and what follows the last. */
static void a_vat_that_is_suspect_goes_into_quarantine(void **state)
{
    static const struct {
        enum vat_loss kind;
        unsigned tries[4];
        enum policy_action then;
    } cases[] = {
        {VAT_LOSS_HOST, {1, 2, 3, 4}, POLICY_GIVE_UP},
        {VAT_LOSS_SUSPECT, {1, 2, 3, 4}, POLICY_QUARANTINE},
        {VAT_LOSS_ONCE, {1, 2, 2, 2}, POLICY_QUARANTINE},
        {VAT_LOSS_HOPELESS, {1, 1, 1, 1}, POLICY_QUARANTINE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint64_t retries = 0; retries < 4; retries++) {
            struct policy_loss given = {.kind = cases[i].kind, .retries = retries};

            for (given.tries = 1; given.tries < cases[i].tries[retries]; given.tries++)
                assert_int_equal(policy_after_loss(&given).action, POLICY_AGAIN);
            assert_int_equal(policy_after_loss(&given).action, cases[i].then);
        }
    }
}

/* SwingSet's numbers: the first snapshot after two deliveries, then every 199. */
static void snapshots_are_due_as_in_swingset(void **state)
{
    const struct snapshot_policy policy = {.interval = 200, .initial = 3};

    (void)state;
    assert_false(policy_snapshot_due(&policy, -1, 0));
    assert_false(policy_snapshot_due(&policy, -1, 1));
    assert_true(policy_snapshot_due(&policy, -1, 2));
    assert_false(policy_snapshot_due(&policy, 2, 2));
    assert_false(policy_snapshot_due(&policy, 2, 200));
    assert_true(policy_snapshot_due(&policy, 2, 201));
}

static void without_an_interval_no_snapshot_is_due(void **state)
{
    const struct snapshot_policy policy = {.interval = 0, .initial = 3};

    (void)state;
    assert_false(policy_snapshot_due(&policy, -1, 1000));
}

static void a_limit_that_a_worker_met_has_the_vats_value(void **state)
{
    const struct kernel_limits own = {.compute = 7, .instructions = 8, .cost = 9, .heap_bytes = 10};
    const struct kernel_limits guards = {.counted_instructions = 80, .metered_cost = 90};
    struct delivery_limit met;

    (void)state;
    met = policy_limit_met(&own, worker_over_compute);
    assert_int_equal(met.of.kind, WORKER_LIMIT_COMPUTRONS);
    assert_int_equal(met.value, 7);
    assert_int_equal(policy_limit_met(&own, "Instruction limit exceeded").value, 8);
    assert_int_equal(policy_limit_met(&guards, "Instruction limit exceeded").value, 80);
    assert_int_equal(policy_limit_met(&own, "Cost limit exceeded").value, 9);
    assert_int_equal(policy_limit_met(&guards, "Cost limit exceeded").value, 90);
    met = policy_limit_met(&own, "Stack meter exceeded"); /* the engine's own */
    assert_int_equal(met.of.kind, WORKER_LIMIT_STACK);
    assert_int_equal(met.value, 0);
}

static void another_end_met_no_limit(void **state)
{
    const struct kernel_limits own = {.compute = 7};

    (void)state;
    assert_null(policy_limit_met(&own, "its worker was killed").of.name);
    assert_null(policy_limit_met(NULL, worker_over_compute).of.name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crank_is_tried_again_after_growing_pauses),
        cmocka_unit_test(a_worker_is_started_again_at_once),
        cmocka_unit_test(no_retries_means_the_first_host_failure_is_final),
        cmocka_unit_test(the_pause_stops_growing),
        cmocka_unit_test(a_vat_that_is_suspect_goes_into_quarantine),
        cmocka_unit_test(snapshots_are_due_as_in_swingset),
        cmocka_unit_test(without_an_interval_no_snapshot_is_due),
        cmocka_unit_test(a_limit_that_a_worker_met_has_the_vats_value),
        cmocka_unit_test(another_end_met_no_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
