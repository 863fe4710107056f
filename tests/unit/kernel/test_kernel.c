/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/kernel/kernel_harness.h"

static const char hello[] = "{\"body\":\"#[\\\"hello\\\",[]]\",\"slots\":[]}";

/* Two vats that have started, and the root of the first. */
static void open_two(struct harness *harness, enum kernel_vat_runtime runtime,
                     char root[KERNEL_REF_SIZE])
{
    harness_open(harness, 0);
    assert_int_equal(harness_vat(harness, "alice", runtime), 1);
    assert_int_equal(harness_vat(harness, "bob", KERNEL_VAT_LIVESLOTS), 2);
    harness_root(harness, "alice", root);
    harness_idle(harness);
}

static void a_message_brings_a_result(void **state)
{
    char root[KERNEL_REF_SIZE], result[KERNEL_REF_SIZE];
    struct harness harness;

    (void)state;
    open_two(&harness, KERNEL_VAT_LIVESLOTS, root);
    harness_queue(&harness, root, hello, result);
    harness_expect_promise(&harness, result, KERNEL_PROMISE_UNRESOLVED, "");
    harness_expect(&harness, 1,
                   "[\"message\",\"o+0\",{\"methargs\":{\"body\":\"#[\\\"hello\\\",[]]\","
                   "\"slots\":[]},\"result\":\"p-60\"}]");
    harness_does(&harness, "[\"resolve\",[[\"p-60\",false,{\"body\":\"#7\",\"slots\":[]}]]]",
                 "[\"ok\",null]");
    assert_string_equal(harness.texts.ksc,
                        "[\"resolve\",\"v1\",[[\"kp40\",false,{\"body\":\"#7\",\"slots\":[]}]]]");
    harness_end(&harness);
    assert_false(harness.end.again);
    harness_expect_promise(&harness, result, KERNEL_PROMISE_FULFILLED,
                           "{\"body\":\"#7\",\"slots\":[]}");
    harness_close(&harness);
}

static void a_result_is_kept_until_it_is_forgotten(void **state)
{
    char root[KERNEL_REF_SIZE], result[KERNEL_REF_SIZE];
    enum kernel_promise promise;
    struct harness harness;
    struct buf data = {0}, records;

    (void)state;
    open_two(&harness, KERNEL_VAT_LIVESLOTS, root);
    harness_queue(&harness, root, hello, result);
    assert_true(harness_next(&harness));
    harness_does(&harness, "[\"resolve\",[[\"p-60\",true,{\"body\":\"#7\",\"slots\":[]}]]]",
                 "[\"ok\",null]");
    harness_end(&harness);
    harness_expect_promise(&harness, result, KERNEL_PROMISE_REJECTED,
                           "{\"body\":\"#7\",\"slots\":[]}");
    harness_ok(kernel_forget_result(harness.kernel, result, false, &harness.error), &harness.error);
    records = harness_records(&harness, "kp4");
    assert_int_equal(records.length, 0);
    assert_int_equal(kernel_promise_state(harness.kernel, result, &promise, &data, &harness.error),
                     -1);
    assert_int_equal(harness.error.kind, ERROR_INPUT);
    assert_int_equal(kernel_forget_result(harness.kernel, result, false, &harness.error), -1);
    buf_free(&records);
    harness_close(&harness);
}

/* As after SwingSet's kpResolution(): the host holds what the result names, until it does not. */
static void objects_of_a_forgotten_result_stay_where_they_are_retained(void **state)
{
    char root[KERNEL_REF_SIZE], result[KERNEL_REF_SIZE];
    struct harness harness;
    struct buf records;

    (void)state;
    for (int retains = 0; retains <= 1; retains++) {
        open_two(&harness, KERNEL_VAT_LIVESLOTS, root);
        harness_queue(&harness, root, hello, result);
        assert_true(harness_next(&harness));
        harness_does(&harness,
                     "[\"resolve\",[[\"p-60\",false,{\"body\":\"#\\\"$0\\\"\","
                     "\"slots\":[\"o+5\"]}]]]",
                     "[\"ok\",null]");
        harness_end(&harness);
        harness_ok(kernel_forget_result(harness.kernel, result, retains, &harness.error),
                   &harness.error);
        records = harness_records(&harness, "gcActions");
        assert_int_equal(strstr(buf_string(&records), "dropExport") != NULL, !retains);
        buf_free(&records);
        harness_close(&harness);
    }
}

static void messages_wait_for_promises_and_follow_their_resolution(void **state)
{
    char root[KERNEL_REF_SIZE], result[KERNEL_REF_SIZE], second[KERNEL_REF_SIZE];
    struct kernel_queues queues;
    struct harness harness;

    (void)state;
    open_two(&harness, KERNEL_VAT_LIVESLOTS, root);
    harness_queue(&harness, root, hello, result);
    harness_queue(&harness, result, hello, second);
    assert_true(harness_next(&harness));
    harness_ok(kernel_queues(harness.kernel, &queues, &harness.error), &harness.error);
    assert_int_equal(queues.waiting, 1);
    harness_does(&harness,
                 "[\"resolve\",[[\"p-60\",false,{\"body\":\"#\\\"$0.Alleged: x\\\"\","
                 "\"slots\":[\"o+5\"]}]]]",
                 "[\"ok\",null]");
    harness_end(&harness);
    harness_expect(&harness, 1,
                   "[\"message\",\"o+5\",{\"methargs\":{\"body\":\"#[\\\"hello\\\",[]]\","
                   "\"slots\":[]},\"result\":\"p-61\"}]");
    harness_end(&harness);
    harness_close(&harness);
}

static void only_objects_take_messages(void **state)
{
    char root[KERNEL_REF_SIZE], result[KERNEL_REF_SIZE], second[KERNEL_REF_SIZE];
    struct harness harness;

    (void)state;
    open_two(&harness, KERNEL_VAT_LIVESLOTS, root);
    harness_queue(&harness, root, hello, result);
    harness_queue(&harness, result, hello, second);
    assert_true(harness_next(&harness));
    harness_does(&harness, "[\"resolve\",[[\"p-60\",false,{\"body\":\"#7\",\"slots\":[]}]]]",
                 "[\"ok\",null]");
    harness_end(&harness);
    harness_idle(&harness);
    harness_expect_promise(&harness, second, KERNEL_PROMISE_REJECTED,
                           "{\"body\":\"#{\\\"#error\\\":\\\"data is not callable, has no method "
                           "hello\\\",\\\"name\\\":\\\"Error\\\"}\",\"slots\":[]}");
    harness_close(&harness);
}

static void a_plain_vat_lives_on_after_an_error(void **state)
{
    char root[KERNEL_REF_SIZE], result[KERNEL_REF_SIZE];
    struct harness harness;
    struct buf item = {0};
    bool found;

    (void)state;
    open_two(&harness, KERNEL_VAT_PLAIN, root);
    harness_queue(&harness, root, hello, result);
    assert_true(harness_next(&harness));
    harness_does(&harness, "[\"vatstoreSet\",\"key\",\"value\"]", "[\"ok\",null]");
    harness_end_as(&harness, KERNEL_CAME_ERROR, "no such method", 5);
    assert_true(harness.end.end.undone);
    assert_true(harness_lives(&harness, 1));
    harness_expect_promise(&harness, result, KERNEL_PROMISE_REJECTED,
                           "{\"body\":\"#{\\\"#error\\\":\\\"no such method\\\",\\\"name\\\":"
                           "\\\"Error\\\"}\",\"slots\":[]}");
    harness_ok(
        store_vat_get(harness.store, 1, (struct iovec){"key", 3}, &item, &found, &harness.error),
        &harness.error);
    assert_false(found);
    harness_ok(store_transcript_get(harness.store, 1, 0, 1, &item, &found, &harness.error),
               &harness.error);
    assert_true(found);
    assert_non_null(strstr(buf_string(&item),
                           "\"sc\":[{\"s\":[\"vatstoreSet\",\"key\",\"value\"],"
                           "\"r\":[\"ok\",null]}],\"r\":{\"status\":\"error\",\"problem\":"
                           "\"no such method\",\"metering\":{\"computrons\":5}}"));
    buf_free(&item);
    harness_close(&harness);
}

static void problems_of_any_bytes_are_recorded(void **state)
{
    char root[KERNEL_REF_SIZE], result[KERNEL_REF_SIZE];
    struct harness harness;
    struct buf item = {0};
    json_t *read;
    bool found;

    (void)state;
    open_two(&harness, KERNEL_VAT_PLAIN, root);
    harness_queue(&harness, root, hello, result);
    assert_true(harness_next(&harness));
    harness_end_as(&harness, KERNEL_CAME_ERROR, "half of \xc3", 5);
    harness_expect_promise(&harness, result, KERNEL_PROMISE_REJECTED,
                           "{\"body\":\"#{\\\"#error\\\":\\\"half of ?\\\",\\\"name\\\":"
                           "\\\"Error\\\"}\",\"slots\":[]}");
    harness_ok(store_transcript_get(harness.store, 1, 0, 1, &item, &found, &harness.error),
               &harness.error);
    read = json_loadb(item.data, item.length, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(json_object_get(read, "r"), "problem")),
                        "half of ?");
    json_decref(read);
    buf_free(&item);
    harness_close(&harness);
}

static void a_vat_that_fails_ends_and_its_message_goes_nowhere(void **state)
{
    char root[KERNEL_REF_SIZE], result[KERNEL_REF_SIZE];
    struct harness harness;

    (void)state;
    open_two(&harness, KERNEL_VAT_LIVESLOTS, root);
    harness_queue(&harness, root, hello, result);
    assert_true(harness_next(&harness));
    harness_end_as(&harness, KERNEL_CAME_DEAD, "Compute meter exceeded", -1);
    assert_int_equal(harness.end.end.stopped_count, 1);
    assert_int_equal(harness.end.end.stopped[0], 1);
    assert_false(harness_lives(&harness, 1));
    harness_idle(&harness);
    harness_expect_promise(&harness, result, KERNEL_PROMISE_REJECTED,
                           "{\"body\":\"#{\\\"#error\\\":\\\"vat terminated\\\",\\\"name\\\":"
                           "\\\"Error\\\"}\",\"slots\":[]}");
    harness_close(&harness);
}

static void a_vat_that_ended_leaves_nothing_and_is_not_made_again(void **state)
{
    struct kernel_vat_setup setup = {
        .name = "alice", .bundle_id = "b1-x", .runtime = KERNEL_VAT_LIVESLOTS};
    char root[KERNEL_REF_SIZE];
    struct harness harness;
    struct buf records;
    int64_t vat;
    bool found;

    (void)state;
    open_two(&harness, KERNEL_VAT_LIVESLOTS, root);
    harness_queue(&harness, root, hello, NULL);
    assert_true(harness_next(&harness));
    harness_does(&harness, "[\"vatstoreSet\",\"key\",\"value\"]", "[\"ok\",null]");
    harness_does(&harness, "[\"exit\",false,{\"body\":\"#\\\"bye\\\"\",\"slots\":[]}]",
                 "[\"ok\",null]");
    harness_end(&harness);
    assert_false(harness.end.end.undone);
    harness_idle(&harness);
    records = harness_records(&harness, "v1.");
    assert_int_equal(records.length, 0);
    harness_ok(store_transcript_get(harness.store, 1, 0, 0, &records, &found, &harness.error),
               &harness.error);
    assert_false(found);
    harness_ok(kernel_provide_vat(harness.kernel, &setup, &vat, &harness.error), &harness.error);
    assert_int_equal(vat, 1);
    assert_false(harness_lives(&harness, 1));
    setup.bundle_id = "b1-y";
    assert_int_equal(kernel_provide_vat(harness.kernel, &setup, &vat, &harness.error), -1);
    assert_int_equal(harness.error.kind, ERROR_INPUT);
    buf_free(&records);
    harness_close(&harness);
}

static void exit_with_failure_takes_back_what_was_done(void **state)
{
    char root[KERNEL_REF_SIZE];
    struct harness harness;
    struct kernel_queues queues;

    (void)state;
    open_two(&harness, KERNEL_VAT_LIVESLOTS, root);
    harness_queue(&harness, root, hello, NULL);
    assert_true(harness_next(&harness));
    harness_does(&harness,
                 "[\"send\",\"o+0\",{\"methargs\":{\"body\":\"#[\\\"again\\\",[]]\",\"slots\":[]},"
                 "\"result\":null}]",
                 "[\"ok\",null]");
    harness_does(&harness, "[\"exit\",true,{\"body\":\"#\\\"bad\\\"\",\"slots\":[]}]",
                 "[\"ok\",null]");
    harness_end(&harness);
    assert_true(harness.end.end.undone);
    harness_idle(&harness);
    harness_ok(kernel_queues(harness.kernel, &queues, &harness.error), &harness.error);
    assert_int_equal(queues.ready, 0);
    assert_false(harness_lives(&harness, 1));
    assert_true(harness_lives(&harness, 2));
    harness_close(&harness);
}

/* Its reason has a promise that was taken back with the rest. */
static void a_reason_that_is_gone_cannot_hurt(void **state)
{
    char root[KERNEL_REF_SIZE], admin[KERNEL_REF_SIZE];
    struct harness harness;

    (void)state;
    harness_open(&harness, 0);
    harness_vat(&harness, "alice", KERNEL_VAT_LIVESLOTS);
    harness_vat(&harness, "vatAdmin", KERNEL_VAT_LIVESLOTS);
    harness_root(&harness, "alice", root);
    harness_root(&harness, "vatAdmin", admin);
    harness_idle(&harness);
    harness_queue(&harness, root, hello, NULL);
    assert_true(harness_next(&harness));
    harness_does(&harness, "[\"exit\",true,{\"body\":\"#\\\"&0\\\"\",\"slots\":[\"p+7\"]}]",
                 "[\"ok\",null]");
    harness_end(&harness);
    harness_expect(&harness, 2,
                   "[\"message\",\"o+0\",{\"methargs\":{\"body\":\"#[\\\"vatTerminated\\\","
                   "[\\\"v1\\\",true,{\\\"#error\\\":\\\"vat terminated for a reason that cannot "
                   "be told\\\",\\\"name\\\":\\\"Error\\\"}]]\",\"slots\":[]},\"result\":"
                   "\"p-60\"}]");
    harness_end(&harness);
    harness_close(&harness);
}

/* ---- what may not be ---- */

/*
 * The vat has o-50 (bob's root), d-70 (echo), p-60 (not its to decide) and p-61
 * (its). `before` is allowed.
 */
static const struct {
    const char *before, *syscall;
} illegal[] = {
    {NULL, "[\"send\",\"o-99\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o-5\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o+\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o+01\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o+1x\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o-50 \",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o-50\\u0000\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o+-1\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"ko20\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"x+1\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o-d1/1\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o+d1\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o+d1/\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o+v1/2:\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o+v1/2:3:4\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"p+v1/2\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o+9007199254740992\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o+99999999999999999999999999999999\",{\"methargs\":{\"body\":\"#1\","
           "\"slots\":[]}}]"},
    {NULL, "[\"send\",\"d-70\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"d+0\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"p-99\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]}}]"},
    {NULL, "[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#1\",\"slots\":[\"o-51\"]}}]"},
    {NULL, "[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#1\",\"slots\":[\"d+1\"]}}]"},
    {NULL, "[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#1\",\"slots\":[\"p-77\"]}}]"},
    {NULL, "[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#1\",\"slots\":[\"o+1\",\"?\"]}}]"},
    {NULL, "[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]},\"result\":\"o+5\"}]"},
    {NULL, "[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]},\"result\":\"p-61\"}]"},
    {NULL, "[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]},\"result\":\"p-99\"}]"},
    {NULL, "[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]},\"result\":\"d-70\"}]"},
    {"[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]},\"result\":\"p+5\"}]",
     "[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]},\"result\":\"p+5\"}]"},
    {"[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#1\",\"slots\":[]},\"result\":\"p+5\"}]",
     "[\"resolve\",[[\"p+5\",false,{\"body\":\"#1\",\"slots\":[]}]]]"},
    {"[\"dropImports\",[\"o-50\"]]", "[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#1\","
                                     "\"slots\":[]}}]"},
    {"[\"dropImports\",[\"o-50\"]]",
     "[\"resolve\",[[\"p-61\",false,{\"body\":\"#1\",\"slots\":[\"o-50\"]}]]]"},
    {NULL, "[\"subscribe\",\"o-50\"]"},
    /* The reason quotes 64 bytes of it, which end within a character. */
    {NULL, "[\"subscribe\",\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
           "\\u00e9\"]"},
    {NULL, "[\"subscribe\",\"p-99\"]"},
    {NULL, "[\"subscribe\",\"\"]"},
    {NULL, "[\"resolve\",[[\"o+1\",false,{\"body\":\"#1\",\"slots\":[]}]]]"},
    {NULL, "[\"resolve\",[[\"p-99\",false,{\"body\":\"#1\",\"slots\":[]}]]]"},
    {NULL, "[\"resolve\",[[\"p-60\",false,{\"body\":\"#1\",\"slots\":[]}]]]"},
    {NULL, "[\"resolve\",[[\"p-61\",false,{\"body\":\"#1\",\"slots\":[\"o-88\"]}]]]"},
    {NULL, "[\"resolve\",[[\"p-61\",false,{\"body\":\"#\\\"&0\\\"\",\"slots\":[\"p+9\"]}]]]"},
    {NULL, "[\"resolve\",[[\"p-61\",false,{\"body\":\"#1\",\"slots\":[]}],"
           "[\"p-61\",true,{\"body\":\"#2\",\"slots\":[]}]]]"},
    {"[\"resolve\",[[\"p-61\",false,{\"body\":\"#1\",\"slots\":[]}]]]",
     "[\"resolve\",[[\"p-61\",false,{\"body\":\"#1\",\"slots\":[]}]]]"},
    {NULL, "[\"callNow\",\"o-50\",\"echo\",{\"body\":\"#[1]\",\"slots\":[]}]"},
    {NULL, "[\"callNow\",\"d-71\",\"echo\",{\"body\":\"#[1]\",\"slots\":[]}]"},
    {NULL, "[\"callNow\",\"d+0\",\"echo\",{\"body\":\"#[1]\",\"slots\":[]}]"},
    {NULL, "[\"callNow\",\"d-70\",\"echo\",{\"body\":\"#[1]\",\"slots\":[\"p-61\"]}]"},
    {NULL, "[\"callNow\",\"d-70\",\"echo\",{\"body\":\"#[1]\",\"slots\":[\"o-77\"]}]"},
    {NULL, "[\"dropImports\",[\"o+0\"]]"},
    {NULL, "[\"dropImports\",[\"o-99\"]]"},
    {NULL, "[\"dropImports\",[\"p-61\"]]"},
    {NULL, "[\"dropImports\",[\"d-70\"]]"},
    {NULL, "[\"dropImports\",[\"rubbish\"]]"},
    {NULL, "[\"retireImports\",[\"o-50\"]]"},
    {"[\"dropImports\",[\"o-50\"]]", "[\"retireImports\",[\"o-50\",\"o-50\"]]"},
    {NULL, "[\"retireExports\",[\"o+0\"]]"},
    {NULL, "[\"retireExports\",[\"o+77\"]]"},
    {NULL, "[\"retireExports\",[\"o-50\"]]"},
    {NULL, "[\"abandonExports\",[\"o-50\"]]"},
    {NULL, "[\"abandonExports\",[\"o+77\"]]"},
    {NULL, "[\"abandonExports\",[\"o+0\",\"o+0\"]]"},
    {NULL, "[\"exit\",false,{\"body\":\"#1\",\"slots\":[\"o-66\"]}]"},
};

static void open_for_damage(struct harness *harness)
{
    char alice[KERNEL_REF_SIZE], bob[KERNEL_REF_SIZE], echo[KERNEL_REF_SIZE];
    char result[KERNEL_REF_SIZE], other[KERNEL_REF_SIZE];
    struct buf methargs = {0};
    bool found;

    open_two(harness, KERNEL_VAT_LIVESLOTS, alice);
    harness_root(harness, "bob", bob);
    harness_ok(kernel_device(harness->kernel, "echo", echo, &found, &harness->error),
               &harness->error);
    harness_queue(harness, bob, hello, other);
    assert_true(harness_next(harness));
    harness_end(harness);
    buf_printf(&methargs,
               "{\"body\":\"#[\\\"m\\\",[\\\"$0\\\",\\\"$1\\\",\\\"&2\\\"]]\",\"slots\":[\"%s\","
               "\"%s\",\"%s\"]}",
               bob, echo, other);
    harness_queue(harness, alice, buf_string(&methargs), result);
    buf_free(&methargs);
    harness_expect(harness, 1,
                   "[\"message\",\"o+0\",{\"methargs\":{\"body\":\"#[\\\"m\\\",[\\\"$0\\\","
                   "\\\"$1\\\",\\\"&2\\\"]]\",\"slots\":[\"o-50\",\"d-70\",\"p-60\"]},"
                   "\"result\":\"p-61\"}]");
}

/* The second vat is as it was, and answers. */
static void check_bob(struct harness *harness, const struct buf *before)
{
    char bob[KERNEL_REF_SIZE], result[KERNEL_REF_SIZE];
    struct buf after = harness_records(harness, "v2.");

    assert_string_equal(buf_string(&after), before->data);
    buf_free(&after);
    harness_root(harness, "bob", bob);
    harness_queue(harness, bob, hello, result);
    assert_true(harness_next(harness));
    assert_int_equal(harness->step.delivery.vat, 2);
    harness_end(harness);
    assert_false(harness_next(harness));
}

static void forbidden_syscall_terminates_only_its_vat(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof illegal / sizeof *illegal; i++) {
        struct harness harness;
        struct buf before;

        open_for_damage(&harness);
        before = harness_records(&harness, "v2.");
        buf_string(&before);
        if (illegal[i].before != NULL)
            assert_int_equal(harness_syscall(&harness, illegal[i].before), KERNEL_OK);
        if (harness_syscall(&harness, illegal[i].syscall) != KERNEL_ILLEGAL)
            fail_msg("taken: %s", illegal[i].syscall);
        assert_int_equal(harness.error.kind, ERROR_INPUT);
        assert_string_equal(harness.texts.vsr,
                            "[\"error\",\"syscall translation error: prepare to die\"]");
        /* Whatever it says afterwards. */
        assert_int_equal(harness_syscall(&harness, "[\"vatstoreGet\",\"k\"]"), KERNEL_ILLEGAL);
        harness_end(&harness);
        assert_true(harness.end.end.undone);
        harness_idle(&harness);
        assert_false(harness_lives(&harness, 1));
        check_bob(&harness, &before);
        buf_free(&before);
        harness_close(&harness);
    }
}

static void invalid_syscall_terminates_the_vat_with_that_reason(void **state)
{
    char root[KERNEL_REF_SIZE], admin[KERNEL_REF_SIZE];
    struct harness harness;

    (void)state;
    harness_open(&harness, 0);
    harness_vat(&harness, "alice", KERNEL_VAT_LIVESLOTS);
    harness_vat(&harness, "vatAdmin", KERNEL_VAT_LIVESLOTS);
    harness_root(&harness, "alice", root);
    harness_root(&harness, "vatAdmin", admin);
    harness_idle(&harness);
    assert_int_equal(kernel_illegal(harness.kernel, "x", &harness.error), -1);
    harness_queue(&harness, root, hello, NULL);
    assert_true(harness_next(&harness));
    harness_ok(kernel_illegal(harness.kernel, "it said rubbish", &harness.error), &harness.error);
    harness_end(&harness);
    assert_true(harness_next(&harness));
    assert_non_null(strstr(harness.step.delivery.vd, "it said rubbish"));
    harness_end(&harness);
    harness_close(&harness);
}

static void bad_messages_from_outside_are_refused(void **state)
{
    static const struct {
        const char *target, *methargs;
    } cases[] = {
        {"ko20", "{\"body\":\"#7\",\"slots\":[]}"},
        {"ko20", "{\"body\":\"[\\\"m\\\",[]]\",\"slots\":[]}"},
        {"ko20", "{\"body\":\"#[7,[]]\",\"slots\":[]}"},
        {"ko20", "{\"body\":\"#[\\\"m\\\",7]\",\"slots\":[]}"},
        {"ko20", "{\"body\":\"#[\\\"m\\\",[]\",\"slots\":[]}"},
        {"ko20", "{\"body\":\"#[\\\"m\\\",[]]\"}"},
        {"ko20", "{\"body\":\"#[\\\"m\\\",[]]\",\"slots\":[\"o+0\"]}"},
        {"ko20", "{\"body\":\"#[\\\"m\\\",[]]\",\"slots\":[\"ko99\"]}"},
        {"ko20", "{\"body\":\"#[\\\"m\\\",[]]\",\"slots\":[\"kp99\"]}"},
        {"ko99", "{\"body\":\"#[\\\"m\\\",[]]\",\"slots\":[]}"},
        {"kp99", "{\"body\":\"#[\\\"m\\\",[]]\",\"slots\":[]}"},
        {"kd30", "{\"body\":\"#[\\\"m\\\",[]]\",\"slots\":[]}"},
        {"", "{\"body\":\"#[\\\"m\\\",[]]\",\"slots\":[]}"},
        {"o+0", "{\"body\":\"#[\\\"m\\\",[]]\",\"slots\":[]}"},
        {"ko020", "{\"body\":\"#[\\\"m\\\",[]]\",\"slots\":[]}"},
    };
    char root[KERNEL_REF_SIZE], result[KERNEL_REF_SIZE];
    struct harness harness;

    (void)state;
    open_two(&harness, KERNEL_VAT_LIVESLOTS, root);
    assert_string_equal(root, "ko20");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *methargs = json_loads(cases[i].methargs, 0, NULL);

        assert_non_null(methargs);
        if (kernel_queue_message(harness.kernel, cases[i].target, methargs, result,
                                 &harness.error) == 0)
            fail_msg("taken: %s %s", cases[i].target, cases[i].methargs);
        assert_int_equal(harness.error.kind, ERROR_INPUT);
        json_decref(methargs);
    }
    assert_false(harness_next(&harness));
    harness_close(&harness);
}

static void bad_vats_are_refused(void **state)
{
    static const char *const names[] = {"", "a b", "a/b", "\xc3\xa9", "a\n"};
    struct kernel_vat_setup setup = {.name = "alice", .bundle_id = "b1-y"};
    char root[KERNEL_REF_SIZE];
    struct harness harness;
    int64_t vat;

    (void)state;
    open_two(&harness, KERNEL_VAT_LIVESLOTS, root);
    assert_int_equal(kernel_provide_vat(harness.kernel, &setup, &vat, &harness.error), -1);
    assert_int_equal(harness.error.kind, ERROR_INPUT);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setup.name = names[i];
        assert_int_equal(kernel_provide_vat(harness.kernel, &setup, &vat, &harness.error), -1);
        assert_int_equal(harness.error.kind, ERROR_INPUT);
    }
    setup.name = "carol";
    setup.parameters = "{";
    assert_int_equal(kernel_provide_vat(harness.kernel, &setup, &vat, &harness.error), -1);
    assert_int_equal(harness.error.kind, ERROR_INPUT);
    harness_close(&harness);
}

/* A vat decides how long they are: nothing may depend on the depth of a stack. */
static void long_promise_chains_are_notified_at_once(void **state)
{
    enum { LENGTH = 20000 };
    char root[KERNEL_REF_SIZE], result[KERNEL_REF_SIZE];
    struct harness harness;
    struct buf resolve = {0};

    (void)state;
    open_two(&harness, KERNEL_VAT_LIVESLOTS, root);
    harness_queue(&harness, root, hello, result);
    assert_true(harness_next(&harness));
    harness_does(&harness, "[\"subscribe\",\"p-60\"]", "[\"ok\",null]");
    buf_append_string(&resolve, "[\"resolve\",[[\"p-60\",false,{\"body\":\"#[\\\"&0\\\"]\","
                                "\"slots\":[\"p+1\"]}]");
    for (int i = 1; i <= LENGTH; i++)
        buf_printf(&resolve, ",[\"p+%d\",false,{\"body\":\"#[\\\"&0\\\"]\",\"slots\":[\"p+%d\"]}]",
                   i, i == LENGTH ? 1 : i + 1);
    buf_append_string(&resolve, "]]");
    harness_does(&harness, buf_string(&resolve), "[\"ok\",null]");
    harness_end(&harness);
    harness_idle(&harness);
    assert_true(harness_lives(&harness, 1));
    buf_free(&resolve);
    harness_close(&harness);
}

static void garbage_is_reported_to_its_exporter(void **state)
{
    char alice[KERNEL_REF_SIZE], bob[KERNEL_REF_SIZE];
    struct buf methargs = {0}, records;
    struct harness harness;

    (void)state;
    open_two(&harness, KERNEL_VAT_LIVESLOTS, alice);
    harness_root(&harness, "bob", bob);
    buf_printf(&methargs, "{\"body\":\"#[\\\"m\\\",[\\\"$0\\\"]]\",\"slots\":[\"%s\"]}", bob);
    harness_queue(&harness, alice, buf_string(&methargs), NULL);
    assert_true(harness_next(&harness));
    harness_does(&harness,
                 "[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#[\\\"take\\\",[\\\"$0\\\"]]\","
                 "\"slots\":[\"o+9\"]}}]",
                 "[\"ok\",null]");
    harness_end(&harness);
    assert_true(harness_next(&harness));
    assert_int_equal(harness.step.delivery.vat, 2);
    harness_does(&harness, "[\"dropImports\",[\"o-50\"]]", "[\"ok\",null]");
    harness_end(&harness);
    harness_expect(&harness, 1, "[\"dropExports\",[\"o+9\"]]");
    harness_does(&harness, "[\"retireExports\",[\"o+9\"]]", "[\"ok\",null]");
    harness_end(&harness);
    harness_expect(&harness, 2, "[\"retireImports\",[\"o-50\"]]");
    harness_end(&harness);
    assert_false(harness_next(&harness));
    records = harness_records(&harness, "ko22");
    assert_int_equal(records.length, 0);
    buf_free(&records);
    buf_free(&methargs);
    harness_close(&harness);
}

static void vats_are_reaped_when_they_had_enough(void **state)
{
    char root[KERNEL_REF_SIZE];
    struct harness harness;

    (void)state;
    harness_open(&harness, 3);
    harness_vat(&harness, "alice", KERNEL_VAT_LIVESLOTS);
    harness_root(&harness, "alice", root);
    harness_expect(&harness, 1, "[\"startVat\",{\"body\":\"#{}\",\"slots\":[]}]");
    harness_end(&harness);
    harness_queue(&harness, root, hello, NULL);
    harness_queue(&harness, root, hello, NULL);
    harness_queue(&harness, root, hello, NULL);
    assert_true(harness_next(&harness));
    harness_end(&harness);
    assert_true(harness_next(&harness));
    harness_end(&harness);
    harness_expect(&harness, 1, "[\"bringOutYourDead\"]");
    harness_end(&harness);
    assert_true(harness_next(&harness));
    assert_string_equal(harness.step.delivery.dispatch, "message");
    harness_end(&harness);
    assert_false(harness_next(&harness));
    harness_close(&harness);
}

/* ---- the hashes ---- */

static void store_value(struct harness *harness, const char *value)
{
    char word[] = "key";

    harness_ok(store_vat_set(harness->store, 1, (struct iovec){word, 3},
                             (struct iovec){(char *)(uintptr_t)value, strlen(value)},
                             &harness->error),
               &harness->error);
}

static bool is_whole(struct harness *harness)
{
    return kernel_require_state(harness->kernel, &harness->error) == 0;
}

static void close_kernel(struct harness *harness)
{
    kernel_close(harness->kernel);
    harness->kernel = NULL;
}

static void open_kernel_again(struct harness *harness)
{
    const struct kernel_options options = {0};

    close_kernel(harness);
    harness->kernel = kernel_open(harness->store, &options, &harness->error);
    assert_non_null(harness->kernel);
}

/* As a gaspipe left it that knew no hash of the state. */
static void drop_state(struct harness *harness)
{
    struct buf record = {0};
    bool found;

    harness_ok(store_key_get(harness->store, "activityhash", &record, &found, &harness->error),
               &harness->error);
    assert_true(found && record.length > KERNEL_HASH_SIZE);
    harness_ok(store_key_set(harness->store, "activityhash",
                             (struct iovec){record.data, KERNEL_HASH_SIZE - 1}, &harness->error),
               &harness->error);
    buf_free(&record);
}

/* Two deliveries; in between a value of the vat's is replaced by `edit` while no kernel looks.
 * The second delivery does not touch it. */
static void hash_with_edit(const char *edit, bool has_state, char activity[KERNEL_HASH_SIZE],
                           bool *whole)
{
    char root[KERNEL_REF_SIZE];
    struct harness harness;
    int64_t crank_num;

    harness_open(&harness, 0);
    harness_vat(&harness, "alice", KERNEL_VAT_PLAIN);
    harness_root(&harness, "alice", root);
    assert_true(harness_next(&harness));
    harness_does(&harness, "[\"vatstoreSet\",\"key\",\"one\"]", "[\"ok\",null]");
    harness_end(&harness);
    assert_true(is_whole(&harness));
    close_kernel(&harness);
    store_value(&harness, edit);
    if (!has_state)
        drop_state(&harness);
    open_kernel_again(&harness);
    *whole = is_whole(&harness);
    harness_queue(&harness, root, hello, NULL);
    assert_true(harness_next(&harness));
    harness_end(&harness);
    harness_ok(kernel_position(harness.kernel, &crank_num, activity, &harness.error),
               &harness.error);
    harness_close(&harness);
}

static void edit_outside_the_kernel_is_found(void **state)
{
    char same[KERNEL_HASH_SIZE], edited[KERNEL_HASH_SIZE];
    bool whole;

    (void)state;
    hash_with_edit("one", true, same, &whole);
    assert_true(whole);
    hash_with_edit("two", true, edited, &whole);
    assert_false(whole);
}

/* An edit that also updates the state's hash still changes the activity hash. */
static void an_edit_is_in_the_activity_hash_of_what_follows(void **state)
{
    char same[KERNEL_HASH_SIZE], added_up[KERNEL_HASH_SIZE], edited[KERNEL_HASH_SIZE];
    bool whole;

    (void)state;
    hash_with_edit("one", true, same, &whole);
    hash_with_edit("one", false, added_up, &whole);
    assert_string_equal(added_up, same);
    hash_with_edit("two", false, edited, &whole);
    assert_string_not_equal(edited, same);
}

static void undo_restores_the_state_hash(void **state)
{
    char root[KERNEL_REF_SIZE];
    struct harness harness;

    (void)state;
    harness_open(&harness, 0);
    harness_vat(&harness, "alice", KERNEL_VAT_PLAIN);
    harness_root(&harness, "alice", root);
    harness_idle(&harness);
    for (int i = 0; i < 3; i++) {
        harness_queue(&harness, root, hello, NULL);
        assert_true(harness_next(&harness));
        harness_does(&harness, "[\"vatstoreSet\",\"key\",\"lost\"]", "[\"ok\",null]");
        if (i == 0)
            kernel_abandon_crank(harness.kernel);
        else if (i == 1)
            harness_end_as(&harness, KERNEL_CAME_ERROR, "no", 100);
        else
            harness_end_as(&harness, KERNEL_CAME_DEAD, "it died", 100);
        assert_true(is_whole(&harness));
    }
    harness_idle(&harness); /* the vat's rows are deleted all at once */
    assert_true(is_whole(&harness));
    harness_close(&harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_brings_a_result),
        cmocka_unit_test(a_result_is_kept_until_it_is_forgotten),
        cmocka_unit_test(objects_of_a_forgotten_result_stay_where_they_are_retained),
        cmocka_unit_test(messages_wait_for_promises_and_follow_their_resolution),
        cmocka_unit_test(only_objects_take_messages),
        cmocka_unit_test(a_plain_vat_lives_on_after_an_error),
        cmocka_unit_test(problems_of_any_bytes_are_recorded),
        cmocka_unit_test(a_vat_that_fails_ends_and_its_message_goes_nowhere),
        cmocka_unit_test(a_vat_that_ended_leaves_nothing_and_is_not_made_again),
        cmocka_unit_test(exit_with_failure_takes_back_what_was_done),
        cmocka_unit_test(a_reason_that_is_gone_cannot_hurt),
        cmocka_unit_test(forbidden_syscall_terminates_only_its_vat),
        cmocka_unit_test(invalid_syscall_terminates_the_vat_with_that_reason),
        cmocka_unit_test(bad_messages_from_outside_are_refused),
        cmocka_unit_test(bad_vats_are_refused),
        cmocka_unit_test(long_promise_chains_are_notified_at_once),
        cmocka_unit_test(garbage_is_reported_to_its_exporter),
        cmocka_unit_test(vats_are_reaped_when_they_had_enough),
        cmocka_unit_test(edit_outside_the_kernel_is_found),
        cmocka_unit_test(an_edit_is_in_the_activity_hash_of_what_follows),
        cmocka_unit_test(undo_restores_the_state_hash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
