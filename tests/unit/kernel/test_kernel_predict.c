/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's predictions come true, and predicting changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/overlay.h"
#include "tests/unit/kernel/kernel_harness.h"

enum { PREDICTED_MAX = 8, ITEMS = 32 };

static const char hello[] = "{\"body\":\"#[\\\"hello\\\",[]]\",\"slots\":[]}";

/* The predictions, in order. */
struct sight {
    struct harness *harness;
    int64_t passed; /* a vat that is not of interest; 0: none */
    size_t limit;   /* so many are enough */
    size_t count;
    int64_t vats[PREDICTED_MAX];
    int64_t positions[PREDICTED_MAX];
    char *vds[PREDICTED_MAX];
};

static enum kernel_interest interest(void *context, int64_t vat)
{
    const struct sight *sight = context;

    if (sight->count == sight->limit)
        return KERNEL_ENOUGH;
    return vat == sight->passed ? KERNEL_PASS : KERNEL_PREDICT;
}

static void predicted(void *context, const struct kernel_delivery *delivery)
{
    struct sight *sight = context;

    assert_true(sight->count < PREDICTED_MAX);
    sight->vats[sight->count] = delivery->vat;
    sight->positions[sight->count] = delivery->position;
    sight->vds[sight->count++] = strdup(delivery->vd);
}

static void forget(struct sight *sight)
{
    while (sight->count > 0)
        free(sight->vds[--sight->count]);
}

static struct kernel_prediction prediction_of(struct sight *sight)
{
    return (struct kernel_prediction){
        .context = sight, .interest = interest, .predicted = predicted};
}

/* All records and the chain of hashes. */
static struct buf everything(struct harness *harness)
{
    struct buf records = harness_records(harness, "");
    char hash[KERNEL_HASH_SIZE];
    int64_t crank_num;

    harness_ok(kernel_position(harness->kernel, &crank_num, hash, &harness->error),
               &harness->error);
    buf_printf(&records, "%s", hash);
    assert_non_null(buf_string(&records));
    return records;
}

/* Looks, and finds all as it was. */
static void look(struct harness *harness, struct sight *sight)
{
    const struct kernel_prediction prediction = prediction_of(sight);
    struct buf before = everything(harness), after;
    size_t items = ITEMS;

    forget(sight);
    harness_ok(kernel_predict(harness->kernel, &prediction, &items, &harness->error),
               &harness->error);
    after = everything(harness);
    assert_string_equal(before.data, after.data);
    buf_free(&before);
    buf_free(&after);
}

/* Vats a, b and c that have started, and a message to each in the queue. */
static void open_three(struct harness *harness)
{
    static const char *const names[] = {"a", "b", "c"};
    char target[KERNEL_REF_SIZE], result[KERNEL_REF_SIZE];

    harness_open(harness, 0);
    for (int i = 0; i < 3; i++)
        harness_vat(harness, names[i], i < 2 ? KERNEL_VAT_LIVESLOTS : KERNEL_VAT_PLAIN);
    harness_idle(harness);
    for (int i = 0; i < 3; i++) {
        harness_root(harness, names[i], target);
        harness_queue(harness, target, hello, result);
    }
}

static void predictions_come_true(void **state)
{
    struct harness harness;
    struct sight sight = {.limit = PREDICTED_MAX};

    (void)state;
    open_three(&harness);
    look(&harness, &sight);
    assert_int_equal(sight.count, 3);
    for (size_t i = 0; i < 3; i++) {
        harness_expect(&harness, sight.vats[i], sight.vds[i]);
        assert_int_equal(harness.step.delivery.position, sight.positions[i]);
        harness_end(&harness);
    }
    forget(&sight);
    harness_close(&harness);
}

static void it_looks_while_a_delivery_is_under_way(void **state)
{
    struct harness harness;
    struct sight sight = {.limit = PREDICTED_MAX};

    (void)state;
    open_three(&harness);
    assert_true(harness_next(&harness));
    harness_does(&harness, "[\"vatstoreSet\",\"k\",\"v\"]", "[\"ok\",null]");
    look(&harness, &sight);
    assert_int_equal(sight.count, 2);
    harness_does(&harness, "[\"vatstoreGet\",\"k\"]", "[\"ok\",\"v\"]");
    harness_end(&harness);
    harness_expect(&harness, sight.vats[0], sight.vds[0]);
    harness_end(&harness);
    harness_expect(&harness, sight.vats[1], sight.vds[1]);
    forget(&sight);
    harness_close(&harness);
}

static void vats_are_passed_over_and_enough_is_enough(void **state)
{
    struct harness harness;
    struct sight sight = {.limit = PREDICTED_MAX, .passed = 1};

    (void)state;
    open_three(&harness);
    look(&harness, &sight);
    assert_int_equal(sight.count, 2);
    assert_int_equal(sight.vats[0], 2);
    sight.limit = 1;
    look(&harness, &sight);
    assert_int_equal(sight.count, 1);
    forget(&sight);
    harness_close(&harness);
}

/* The hashes of a run do not depend on predictions. */
static void looking_changes_no_hash(void **state)
{
    char hashes[2][KERNEL_HASH_SIZE];
    struct sight sight = {.limit = PREDICTED_MAX};
    struct harness harness;
    int64_t crank_num;

    (void)state;
    for (int i = 0; i < 2; i++) {
        open_three(&harness);
        while (harness_next(&harness)) {
            if (i == 1)
                look(&harness, &sight);
            harness_end(&harness);
        }
        harness_ok(kernel_position(harness.kernel, &crank_num, hashes[i], &harness.error),
                   &harness.error);
        harness_close(&harness);
    }
    forget(&sight);
    assert_string_equal(hashes[0], hashes[1]);
}

/* ---- messages that are not queued yet ---- */

static int queue_hello(struct sight *sight, const char *name, struct kernel *kernel,
                       struct error *error)
{
    char target[KERNEL_REF_SIZE], result[KERNEL_REF_SIZE];
    json_t *methargs = json_loads(hello, 0, NULL);
    bool found;
    int queued = kernel_root(kernel, name, target, &found, error);

    (void)sight;
    if (queued == 0)
        queued = kernel_queue_message(kernel, target, methargs, result, error);
    json_decref(methargs);
    return queued;
}

static int queue_plain(void *context, struct kernel *kernel, struct error *error)
{
    return queue_hello(context, "c", kernel, error);
}

static int queue_other(void *context, struct kernel *kernel, struct error *error)
{
    return queue_hello(context, "a", kernel, error);
}

static int queue_nothing(void *context, struct kernel *kernel, struct error *error)
{
    (void)context;
    (void)kernel;
    return error_set(error, ERROR_INPUT, "there is none");
}

static void only_messages_to_plain_vats_are_predicted_from_outside(void **state)
{
    int (*const queues[])(void *, struct kernel *, struct error *) = {queue_other, queue_nothing,
                                                                      queue_plain};
    struct sight sight = {.limit = PREDICTED_MAX};
    const struct kernel_prediction prediction = prediction_of(&sight);
    char target[KERNEL_REF_SIZE], result[KERNEL_REF_SIZE];
    struct buf before, after;
    struct harness harness;

    (void)state;
    open_three(&harness);
    harness_idle(&harness);
    before = everything(&harness);
    for (size_t i = 0; i < sizeof queues / sizeof *queues; i++)
        harness_ok(kernel_predict_unqueued(harness.kernel, &prediction, queues[i], &harness.error),
                   &harness.error);
    after = everything(&harness);
    assert_string_equal(before.data, after.data);
    assert_int_equal(sight.count, 1);
    harness_root(&harness, "c", target);
    harness_queue(&harness, target, hello, result);
    harness_expect(&harness, sight.vats[0], sight.vds[0]);
    forget(&sight);
    buf_free(&before);
    buf_free(&after);
    harness_close(&harness);
}

/* ---- syscalls before their turn ---- */

/* As kernel_syscall() answers; `expected` is NULL for what cannot be known. */
static void answer_early(struct harness *harness, struct overlay *overlay, const char *vsc,
                         const char *expected)
{
    struct buf message = {0}, answer = {0};
    struct vat_request request;
    bool found;

    buf_printf(&message, "[\"syscall\",%s]", vsc);
    harness_ok(vat_request_parse(&request, message.data, message.length, &harness->error),
               &harness->error);
    harness_ok(kernel_predict_syscall(overlay, &request.syscall, &answer, &found, &harness->error),
               &harness->error);
    assert_int_equal(found, expected != NULL);
    if (expected != NULL)
        assert_string_equal(buf_string(&answer), expected);
    if (harness->step.work == KERNEL_DELIVERY && expected != NULL)
        harness_does(harness, vsc, expected);
    vat_request_free(&request);
    buf_free(&message);
    buf_free(&answer);
}

static void syscalls_are_answered_as_at_their_turn(void **state)
{
    struct overlay overlay;
    struct harness harness;

    (void)state;
    open_three(&harness);
    assert_true(harness_next(&harness));
    overlay_init(&overlay, harness.store, harness.step.delivery.vat);
    answer_early(&harness, &overlay, "[\"vatstoreGet\",\"k\"]", "[\"ok\",null]");
    answer_early(&harness, &overlay, "[\"vatstoreSet\",\"k\",\"\\u0001\\\"\\u00e9\\u2028\"]",
                 "[\"ok\",null]");
    answer_early(&harness, &overlay, "[\"vatstoreGet\",\"k\"]",
                 "[\"ok\",\"\\u0001\\\"\xc3\xa9\xe2\x80\xa8\"]");
    answer_early(&harness, &overlay, "[\"vatstoreGetNextKey\",\"a\"]", "[\"ok\",\"k\"]");
    answer_early(&harness, &overlay, "[\"vatstoreSet\",\"e\",\"\"]", "[\"ok\",null]");
    answer_early(&harness, &overlay, "[\"vatstoreGet\",\"e\"]", "[\"ok\",null]");
    answer_early(&harness, &overlay, "[\"vatstoreDelete\",\"k\"]", "[\"ok\",null]");
    answer_early(&harness, &overlay, "[\"vatstoreGetNextKey\",\"e\"]", "[\"ok\",null]");
    answer_early(&harness, &overlay,
                 "[\"resolve\",[[\"p+5\",false,{\"body\":\"#1\",\"slots\":[]}]]]", "[\"ok\",null]");
    answer_early(&harness, &overlay,
                 "[\"callNow\",\"d-70\",\"echo\",{\"body\":\"#[1]\",\"slots\":[]}]", NULL);
    overlay_free(&overlay);
    harness_close(&harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_come_true),
        cmocka_unit_test(it_looks_while_a_delivery_is_under_way),
        cmocka_unit_test(vats_are_passed_over_and_enough_is_enough),
        cmocka_unit_test(looking_changes_no_hash),
        cmocka_unit_test(only_messages_to_plain_vats_are_predicted_from_outside),
        cmocka_unit_test(syscalls_are_answered_as_at_their_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
