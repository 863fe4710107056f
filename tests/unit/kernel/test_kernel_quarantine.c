/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to vats in quarantine wait, in order; those to other vats are delivered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/kernel/kernel_harness.h"

struct pair {
    struct harness harness;
    int64_t bad, good;
    char bad_root[KERNEL_REF_SIZE], good_root[KERNEL_REF_SIZE];
};

/* Two plain vats that have started. */
static void open_pair(struct pair *pair)
{
    struct harness *harness = &pair->harness;

    harness_open(harness, 0);
    pair->bad = harness_vat(harness, "bad", KERNEL_VAT_PLAIN);
    pair->good = harness_vat(harness, "good", KERNEL_VAT_PLAIN);
    harness_idle(harness);
    harness_root(harness, "bad", pair->bad_root);
    harness_root(harness, "good", pair->good_root);
}

static void send(struct pair *pair, const char *root, const char *method,
                 char result[KERNEL_REF_SIZE])
{
    char methargs[64];

    snprintf(methargs, sizeof methargs, "{\"body\":\"#[\\\"%s\\\",[]]\",\"slots\":[]}", method);
    harness_queue(&pair->harness, root, methargs, result);
}

/* The next delivery is that one, and does nothing. */
static void expect(struct pair *pair, int64_t vat, const char *method)
{
    struct harness *harness = &pair->harness;
    char word[64];

    snprintf(word, sizeof word, "#[\\\"%s\\\"", method);
    assert_true(harness_next(harness));
    assert_int_equal(harness->step.delivery.vat, vat);
    assert_non_null(strstr(harness->step.delivery.vd, word));
    harness_end(harness);
}

/* One message to each, the second of which found its vat wanting; then it is in quarantine. */
static void quarantine(struct pair *pair, char result[KERNEL_REF_SIZE])
{
    struct harness *harness = &pair->harness;

    send(pair, pair->bad_root, "first", result);
    send(pair, pair->bad_root, "second", NULL);
    send(pair, pair->good_root, "other", NULL);
    assert_true(harness_next(harness));
    kernel_abandon_crank(harness->kernel);
    harness_ok(kernel_quarantine(harness->kernel, pair->bad, "it \"hangs\"", &harness->error),
               &harness->error);
    expect(pair, pair->good, "other");
    assert_false(harness_next(harness));
}

static void assert_quarantine(struct pair *pair, bool expected)
{
    struct harness *harness = &pair->harness;
    struct buf reason = {0};
    bool is;

    harness_ok(kernel_quarantine_reason(harness->kernel, pair->bad, &is, &reason, &harness->error),
               &harness->error);
    assert_int_equal(is, expected);
    if (expected)
        assert_string_equal(buf_string(&reason), "it \"hangs\"");
    buf_free(&reason);
}

static void released_messages_return_to_the_front_in_order(void **state)
{
    struct pair pair;
    char result[KERNEL_REF_SIZE];

    (void)state;
    open_pair(&pair);
    assert_quarantine(&pair, false);
    quarantine(&pair, result);
    assert_quarantine(&pair, true);
    send(&pair, pair.bad_root, "third", NULL);
    assert_false(harness_next(&pair.harness));
    send(&pair, pair.bad_root, "fourth",
         NULL); /* still in the queue when the others return to it */
    harness_ok(kernel_release(pair.harness.kernel, pair.bad, false, &pair.harness.error),
               &pair.harness.error);
    expect(&pair, pair.bad, "first");
    expect(&pair, pair.bad, "second");
    expect(&pair, pair.bad, "third");
    expect(&pair, pair.bad, "fourth");
    assert_false(harness_next(&pair.harness));
    assert_quarantine(&pair, false);
    harness_close(&pair.harness);
}

static void assert_result(struct pair *pair, const char *promise, enum kernel_promise expected,
                          const char *words)
{
    struct harness *harness = &pair->harness;
    enum kernel_promise state;
    struct buf data = {0};

    harness_ok(kernel_promise_state(harness->kernel, promise, &state, &data, &harness->error),
               &harness->error);
    assert_int_equal(state, expected);
    if (words != NULL)
        assert_non_null(strstr(buf_string(&data), words));
    buf_free(&data);
}

static void a_skipped_message_is_rejected(void **state)
{
    struct pair pair;
    char result[KERNEL_REF_SIZE];

    (void)state;
    open_pair(&pair);
    quarantine(&pair, result);
    assert_result(&pair, result, KERNEL_PROMISE_UNRESOLVED, NULL);
    harness_ok(kernel_skip_delivery(pair.harness.kernel, pair.bad, &pair.harness.error),
               &pair.harness.error);
    expect(&pair, pair.bad, "second");
    assert_result(&pair, result, KERNEL_PROMISE_REJECTED, "skipped by the operator");
    assert_false(harness_next(&pair.harness));
    harness_close(&pair.harness);
}

static void terminated_vat_leaves_no_quarantine(void **state)
{
    struct pair pair;
    char result[KERNEL_REF_SIZE];
    struct error ignored;

    (void)state;
    open_pair(&pair);
    quarantine(&pair, result);
    harness_ok(kernel_terminate(pair.harness.kernel, pair.bad, &pair.harness.error),
               &pair.harness.error);
    assert_false(harness_next(&pair.harness));
    assert_result(&pair, result, KERNEL_PROMISE_REJECTED, "vat terminated");
    assert_quarantine(&pair, false);
    assert_int_equal(kernel_release(pair.harness.kernel, pair.bad, false, &ignored), -1);
    assert_int_equal(ignored.kind, ERROR_INPUT);
    harness_close(&pair.harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(released_messages_return_to_the_front_in_order),
        cmocka_unit_test(a_skipped_message_is_rejected),
        cmocka_unit_test(terminated_vat_leaves_no_quarantine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
