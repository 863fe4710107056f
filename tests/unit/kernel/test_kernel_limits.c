/* SPDX-License-Identifier: Apache-2.0 */
/* Limits that the kernel holds vats to: at the limit a vat lives, one further and it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/kernel.h"
#include "proto/vat_message.h"
#include "store/store.h"

struct world {
    struct store *store;
    struct kernel *kernel;
    int64_t vat;
};

static void check_ok(int result, const struct error *error)
{
    if (result != 0)
        fail_msg("%s", error->text);
}

static enum kernel_verdict ask(struct kernel *kernel, const char *syscall, struct error *error)
{
    struct kernel_syscall_texts texts;
    struct vat_request request;
    enum kernel_verdict verdict;
    char *text = NULL;

    assert_true(asprintf(&text, "[\"syscall\",%s]", syscall) > 0);
    check_ok(vat_request_parse(&request, text, strlen(text), error), error);
    verdict = kernel_syscall(kernel, &request.syscall, &texts, error);
    vat_request_free(&request);
    free(text);
    return verdict;
}

/* Runs the next delivery to its end, which the last verdict reports as success or termination. */
static enum kernel_verdict deliver(struct world *world, const char *const *syscalls, size_t count,
                                   bool well, struct error *error)
{
    struct kernel_outcome outcome = {.came = KERNEL_CAME_OK, .compute = 1, .instructions = -1};
    enum kernel_verdict verdict = KERNEL_OK;
    struct kernel_delivery_end end;
    struct kernel_step step;
    struct error ended;

    do {
        check_ok(kernel_next(world->kernel, &step, error), error);
    } while (step.work == KERNEL_ROUTED);
    assert_int_equal(step.work, KERNEL_DELIVERY);
    for (size_t i = 0; i < count && verdict == KERNEL_OK; i++)
        verdict = ask(world->kernel, syscalls[i], error);
    if (verdict != KERNEL_OK || !well) {
        outcome.came = verdict != KERNEL_OK ? KERNEL_CAME_DEAD : KERNEL_CAME_ERROR;
        outcome.problem = verdict != KERNEL_OK ? error->text : "it did not want to";
    }
    check_ok(kernel_end_delivery(world->kernel, &outcome, &end, &ended), &ended);
    assert_false(end.again);
    return verdict;
}

static void open_world(struct world *world, const struct kernel_limits *limits)
{
    const struct kernel_options options = {.limits = *limits};
    const struct kernel_vat_setup setup = {
        .name = "one", .bundle_id = "b0-00", .runtime = KERNEL_VAT_PLAIN};
    struct error error;

    world->store = store_open(NULL, &error);
    assert_non_null(world->store);
    check_ok(store_transaction_begin(world->store, &error), &error);
    world->kernel = kernel_open(world->store, &options, &error);
    assert_non_null(world->kernel);
    check_ok(kernel_provide_vat(world->kernel, &setup, &world->vat, &error), &error);
    assert_int_equal(deliver(world, NULL, 0, true, &error), KERNEL_OK);
}

static void close_world(struct world *world)
{
    kernel_close(world->kernel);
    store_close(world->store);
}

static void queue_message(struct world *world)
{
    json_t *methargs = json_pack("{s:s,s:[]}", "body", "#[\"f\",[]]", "slots");
    char target[KERNEL_REF_SIZE];
    struct error error;
    bool found;

    check_ok(kernel_root(world->kernel, "one", target, &found, &error), &error);
    assert_true(found);
    check_ok(kernel_queue_message(world->kernel, target, methargs, NULL, &error), &error);
    json_decref(methargs);
}

static bool lives(struct world *world)
{
    struct kernel_vat vat;
    struct error error;
    bool found;

    check_ok(kernel_vat_get(world->kernel, world->vat, &vat, &found, &error), &error);
    if (found)
        kernel_vat_free(&vat);
    return found;
}

/* A delivery with these syscalls: the vat lives, or ends for these words. */
static void expect(struct world *world, const char *const *syscalls, size_t count,
                   const char *words)
{
    struct error error = {0};

    queue_message(world);
    assert_int_equal(deliver(world, syscalls, count, true, &error),
                     words == NULL ? KERNEL_OK : KERNEL_ILLEGAL);
    if (words != NULL)
        assert_string_equal(error.text, words);
    assert_int_equal(lives(world), words == NULL);
}

static const char *const reads[] = {"[\"vatstoreGet\",\"a\"]", "[\"vatstoreGet\",\"b\"]",
                                    "[\"vatstoreGet\",\"c\"]"};

static void syscalls_are_counted_in_each_delivery(void **state)
{
    struct world world;

    (void)state;
    open_world(&world, &(struct kernel_limits){.syscalls = 2});
    expect(&world, reads, 2, NULL);
    expect(&world, reads, 2, NULL);
    expect(&world, reads, 3, "more than the 2 syscalls that a delivery may make (--max-syscalls)");
    close_world(&world);
}

/* 40 bytes of body and references. */
#define CAPDATA(body) "{\"body\":\"" body "\",\"slots\":[\"p+60\",\"p+60\"]}"
static const char forty[] = "0123456789012345678901234567890#";
#define FORTY "0123456789012345678901234567890#"

static void a_message_is_measured(const char *within, const char *beyond, const char *words)
{
    struct world world;

    open_world(&world, &(struct kernel_limits){.message_bytes = 40});
    expect(&world, &within, 1, NULL);
    expect(&world, &beyond, 1, words);
    close_world(&world);
}

static void messages_have_a_size(void **state)
{
    (void)state;
    assert_int_equal(strlen(forty) + 2 * strlen("p+60"), 40);
    a_message_is_measured("[\"vatstoreSet\",\"key\",\"" FORTY "12345\"]",
                          "[\"vatstoreSet\",\"key\",\"" FORTY "123456\"]",
                          "vatstoreSet: more than the 40 bytes that a vat may send or store at a "
                          "time (--max-message-bytes)");
    a_message_is_measured("[\"vatstoreGet\",\"" FORTY "12345678\"]",
                          "[\"vatstoreGet\",\"" FORTY "123456789\"]",
                          "vatstoreGet: more than the 40 bytes that a vat may send or store at a "
                          "time (--max-message-bytes)");
    a_message_is_measured(
        "[\"send\",\"o+0\",{\"methargs\":" CAPDATA(FORTY) ",\"result\":null}]",
        "[\"send\",\"o+0\",{\"methargs\":" CAPDATA(FORTY "x") ",\"result\":null}]",
        "send: more than the 40 bytes that a vat may send or store at a time "
        "(--max-message-bytes)");
    a_message_is_measured(
        "[\"resolve\",[[\"p+5\",false," CAPDATA(FORTY) "]]]",
        "[\"resolve\",[[\"p+6\",false," CAPDATA("") "],[\"p+7\",true," CAPDATA(FORTY "x") "]]]",
        "resolve: more than the 40 bytes that a vat may send or store at a time "
        "(--max-message-bytes)");
}

static void exit_is_measured(void **state)
{
    const char *const beyond = "[\"exit\",true," CAPDATA(FORTY "x") "]";
    struct world world;

    (void)state;
    open_world(&world, &(struct kernel_limits){.message_bytes = 40});
    expect(&world, &beyond, 1,
           "exit: more than the 40 bytes that a vat may send or store at a time "
           "(--max-message-bytes)");
    close_world(&world);
}

static void a_store_is_measured_over_deliveries(void **state)
{
    static const char *const ten[] = {"[\"vatstoreSet\",\"a\",\"234567890\"]"};
    static const char *const shorter[] = {"[\"vatstoreSet\",\"a\",\"23\"]"};
    static const char *const others[] = {
        "[\"vatstoreSet\",\"b\",\"2345678\"]", "[\"vatstoreSet\",\"c\",\"23456789\"]",
        "[\"vatstoreDelete\",\"b\"]", "[\"vatstoreSet\",\"d\",\"23456789\"]"};
    struct world world;

    (void)state;
    open_world(&world, &(struct kernel_limits){.store_bytes = 20});
    expect(&world, ten, 1, NULL);
    expect(&world, ten, 1, NULL);     /* in its own place */
    expect(&world, shorter, 1, NULL); /* 3 */
    expect(&world, others, 2, NULL);  /* 20 */
    expect(&world, others + 2, 2,
           "more than the 20 bytes that a vatstore may have (--max-store-bytes)"); /* 12, 21 */
    close_world(&world);
}

static void undone_cranks_are_not_measured(void **state)
{
    static const char *const set[] = {"[\"vatstoreSet\",\"a\",\"234567890\"]"};
    static const char *const more[] = {"[\"vatstoreSet\",\"b\",\"234567890\"]"};
    static const char *const last[] = {"[\"vatstoreSet\",\"c\",\"\"]"};
    struct world world;
    struct error error;

    (void)state;
    open_world(&world, &(struct kernel_limits){.store_bytes = 20});
    queue_message(&world);
    assert_int_equal(deliver(&world, set, 1, false, &error), KERNEL_OK);
    expect(&world, set, 1, NULL);
    expect(&world, more, 1, NULL);
    expect(&world, last, 1, "more than the 20 bytes that a vatstore may have (--max-store-bytes)");
    close_world(&world);
}

static void a_vat_keeps_its_limits(void **state)
{
    const struct kernel_limits limits = {
        .compute = 1, .instructions = 2, .syscalls = 3, .store_bytes = 40, .message_bytes = 50};
    const struct kernel_options other = {.limits = {.syscalls = 1}};
    struct kernel_vat vat;
    struct world world;
    struct error error;
    bool found;

    (void)state;
    open_world(&world, &limits);
    kernel_close(world.kernel);
    world.kernel = kernel_open(world.store, &other, &error);
    assert_non_null(world.kernel);
    check_ok(kernel_vat_get(world.kernel, world.vat, &vat, &found, &error), &error);
    assert_true(found);
    assert_memory_equal(&vat.limits, &limits, sizeof limits);
    kernel_vat_free(&vat);
    expect(&world, reads, 3, NULL);
    close_world(&world);
}

static void a_limit_that_is_not_passed_leaves_no_trace_in_the_hash(void **state)
{
    static const char *const set[] = {"[\"vatstoreSet\",\"a\",\"234567890\"]"};
    const struct kernel_limits limits[] = {{0}, {.syscalls = 5, .store_bytes = 100}};
    char hashes[2][KERNEL_HASH_SIZE];
    int64_t crank_num;
    struct world world;
    struct error error;

    (void)state;
    for (int i = 0; i < 2; i++) {
        open_world(&world, &limits[i]);
        expect(&world, set, 1, NULL);
        check_ok(kernel_position(world.kernel, &crank_num, hashes[i], &error), &error);
        close_world(&world);
    }
    assert_string_equal(hashes[0], hashes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(syscalls_are_counted_in_each_delivery),
        cmocka_unit_test(messages_have_a_size),
        cmocka_unit_test(exit_is_measured),
        cmocka_unit_test(a_store_is_measured_over_deliveries),
        cmocka_unit_test(undone_cranks_are_not_measured),
        cmocka_unit_test(a_vat_keeps_its_limits),
        cmocka_unit_test(a_limit_that_is_not_passed_leaves_no_trace_in_the_hash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
