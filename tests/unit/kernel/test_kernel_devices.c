/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/kernel/kernel_harness.h"

#define REFUSED "[\"error\",\"device.invoke failed, see logs for details\"]"
#define NOTHING "[\"ok\",{\"body\":\"#\\\"#undefined\\\"\",\"slots\":[]}]"
#define BUNDLE                                                                                     \
    "b1-000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"                          \
    "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"

/* A vat in a delivery, with d-70, the device of that name; the vatAdmin vat is v2. */
static void open_with(struct harness *harness, const char *device)
{
    char root[KERNEL_REF_SIZE], admin[KERNEL_REF_SIZE], node[KERNEL_REF_SIZE];
    struct buf methargs = {0};
    bool found;

    harness_open(harness, 0);
    harness_vat(harness, "alice", KERNEL_VAT_LIVESLOTS);
    harness_vat(harness, "vatAdmin", KERNEL_VAT_LIVESLOTS);
    harness_root(harness, "alice", root);
    harness_root(harness, "vatAdmin", admin);
    harness_idle(harness);
    harness_ok(kernel_device(harness->kernel, device, node, &found, &harness->error),
               &harness->error);
    assert_true(found);
    buf_printf(&methargs, "{\"body\":\"#[\\\"m\\\",[\\\"$0\\\"]]\",\"slots\":[\"%s\"]}", node);
    harness_queue(harness, root, buf_string(&methargs), NULL);
    buf_free(&methargs);
    assert_true(harness_next(harness));
}

/* callNow on d-70; `body` and `slots` are JSON, and `answer` is the expected answer. */
static void call(struct harness *harness, const char *method, const char *body, const char *slots,
                 const char *answer)
{
    json_t *vsc = json_pack("[s,s,s,{s:s,s:o}]", "callNow", "d-70", method, "body", body, "slots",
                            json_loads(slots, 0, NULL));
    char *text = json_dumps(vsc, JSON_COMPACT);

    harness_does(harness, text, answer);
    free(text);
    json_decref(vsc);
}

static void there_is_no_other_device(void **state)
{
    char kref[KERNEL_REF_SIZE];
    struct harness harness;
    bool found;

    (void)state;
    harness_open(&harness, 0);
    harness_ok(kernel_device(harness.kernel, "toaster", kref, &found, &harness.error),
               &harness.error);
    assert_false(found);
    harness_close(&harness);
}

static void echo_gives_back_adds_and_fails(void **state)
{
    static const struct {
        const char *method, *body, *slots, *answer;
    } cases[] = {
        {"echo", "#[7]", "[]", "[\"ok\",{\"body\":\"#7\",\"slots\":[]}]"},
        {"echo", "#[{\"b\":\"+5\",\"a\":[\"!$\",null]}]", "[]",
         "[\"ok\",{\"body\":\"#{\\\"a\\\":[\\\"!$\\\",null],\\\"b\\\":\\\"+5\\\"}\",\"slots\":[]}"
         "]"},
        {"echo", "#[\"$1.Alleged: x\"]", "[\"o+4\",\"o+5\"]",
         "[\"ok\",{\"body\":\"#\\\"$0.Alleged: x\\\"\",\"slots\":[\"o+5\"]}]"},
        {"echo", "#[]", "[]", NOTHING},
        {"echo", "#[\"$3\"]", "[\"o+4\"]", REFUSED},
        {"echo", "#7", "[]", REFUSED},
        {"echo", "#[", "[]", REFUSED},
        {"echo", "rubbish", "[]", REFUSED},
        {"add", "#[2,3]", "[]", "[\"ok\",{\"body\":\"#5\",\"slots\":[]}]"},
        {"add", "#[0.5,3]", "[]", "[\"ok\",{\"body\":\"#3.5\",\"slots\":[]}]"},
        {"add", "#[\"+2\",\"+3\"]", "[]", "[\"ok\",{\"body\":\"#\\\"+5\\\"\",\"slots\":[]}]"},
        {"add", "#[\"ab\",\"!$c\"]", "[]", "[\"ok\",{\"body\":\"#\\\"ab$c\\\"\",\"slots\":[]}]"},
        {"add", "#[\"+9223372036854775807\",\"+1\"]", "[]", REFUSED},
        {"add", "#[1,\"x\"]", "[]", REFUSED},
        {"add", "#[]", "[]", REFUSED},
        {"fail", "#[\"because\"]", "[]", REFUSED},
        {"subscribe", "#[7]", "[]", REFUSED},
        {"subscribe", "#[\"$0\"]", "[\"d-70\"]", REFUSED},
        {"launch", "#[]", "[]", REFUSED},
    };
    struct harness harness;

    (void)state;
    open_with(&harness, "echo");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        call(&harness, cases[i].method, cases[i].body, cases[i].slots, cases[i].answer);
    assert_non_null(strstr(buf_string(&harness.console), "d+0.fail: because\n"));
    harness_end(&harness);
    assert_false(harness.end.end.undone);
    harness_close(&harness);
}

static void echo_notifies_its_listener(void **state)
{
    struct harness harness;
    bool heard;

    (void)state;
    open_with(&harness, "echo");
    call(&harness, "subscribe", "#[\"$0.Alleged: l\"]", "[\"o+5\"]", NOTHING);
    harness_end(&harness);
    harness_ok(kernel_trigger(harness.kernel, "+words", &heard, &harness.error), &harness.error);
    assert_true(heard);
    harness_expect(&harness, 1,
                   "[\"message\",\"o+5\",{\"methargs\":{\"body\":\"#[\\\"event\\\",[1,"
                   "\\\"!+words\\\"]]\",\"slots\":[]},\"result\":null}]");
    harness_end(&harness);
    harness_close(&harness);
}

static void set_clock(struct harness *harness, int64_t now, bool expected)
{
    bool woken;

    harness_ok(kernel_set_clock(harness->kernel, now, &woken, &harness->error), &harness->error);
    assert_int_equal(woken, expected);
}

static void expect_wake(struct harness *harness, const char *handler, const char *time)
{
    struct buf vd = {0};

    buf_printf(&vd,
               "[\"message\",\"%s\",{\"methargs\":{\"body\":\"#[\\\"wake\\\",[\\\"%s\\\"]]\","
               "\"slots\":[]},\"result\":null}]",
               handler, time);
    harness_expect(harness, 1, buf_string(&vd));
    harness_end(harness);
    buf_free(&vd);
}

static void the_clock_wakes_in_the_order_of_time(void **state)
{
    struct harness harness;

    (void)state;
    open_with(&harness, "clock");
    call(&harness, "getLastPolled", "#[]", "[]",
         "[\"ok\",{\"body\":\"#\\\"+0\\\"\",\"slots\":[]}]");
    call(&harness, "setWakeup", "#[\"+7\",\"$0\"]", "[\"o+7\"]",
         "[\"ok\",{\"body\":\"#\\\"+7\\\"\",\"slots\":[]}]");
    call(&harness, "setWakeup", "#[\"+5\",\"$0\"]", "[\"o+5\"]",
         "[\"ok\",{\"body\":\"#\\\"+5\\\"\",\"slots\":[]}]");
    call(&harness, "setWakeup", "#[\"+7\",\"$0\"]", "[\"o+8\"]",
         "[\"ok\",{\"body\":\"#\\\"+7\\\"\",\"slots\":[]}]");
    call(&harness, "setWakeup", "#[\"+20\",\"$0\"]", "[\"o+8\"]",
         "[\"ok\",{\"body\":\"#\\\"+20\\\"\",\"slots\":[]}]");
    harness_end(&harness);
    set_clock(&harness, 4, false);
    set_clock(&harness, 10, true);
    expect_wake(&harness, "o+5", "+5");
    expect_wake(&harness, "o+7", "+7");
    expect_wake(&harness, "o+8", "+7");
    assert_false(harness_next(&harness));
    harness_close(&harness);
}

static void the_clock_forgets_and_repeats(void **state)
{
    struct harness harness;

    (void)state;
    open_with(&harness, "clock");
    call(&harness, "setWakeup", "#[\"+5\",\"$0\"]", "[\"o+5\"]",
         "[\"ok\",{\"body\":\"#\\\"+5\\\"\",\"slots\":[]}]");
    call(&harness, "setWakeup", "#[\"+6\",\"$0\"]", "[\"o+5\"]",
         "[\"ok\",{\"body\":\"#\\\"+6\\\"\",\"slots\":[]}]");
    call(&harness, "removeWakeup", "#[\"$0\"]", "[\"o+5\"]",
         "[\"ok\",{\"body\":\"#[\\\"+5\\\",\\\"+6\\\"]\",\"slots\":[]}]");
    call(&harness, "makeRepeater", "#[\"+3\",\"+10\"]", "[]",
         "[\"ok\",{\"body\":\"#0\",\"slots\":[]}]");
    call(&harness, "makeRepeater", "#[\"+0\",\"+1\"]", "[]",
         "[\"ok\",{\"body\":\"#1\",\"slots\":[]}]");
    call(&harness, "deleteRepeater", "#[1]", "[]", "[\"ok\",{\"body\":\"#1\",\"slots\":[]}]");
    call(&harness, "schedule", "#[1,\"$0\"]", "[\"o+5\"]", REFUSED);
    call(&harness, "schedule", "#[0,\"$0\"]", "[\"o+6\"]",
         "[\"ok\",{\"body\":\"#\\\"+13\\\"\",\"slots\":[]}]");
    harness_end(&harness);
    set_clock(&harness, 13, true);
    expect_wake(&harness, "o+6", "+13");
    set_clock(&harness, 22, false);
    set_clock(&harness, 23, true);
    expect_wake(&harness, "o+6", "+23");
    harness_close(&harness);
}

static void the_clock_refuses_what_cannot_be(void **state)
{
    static const struct {
        const char *method, *body, *slots;
    } cases[] = {
        {"setWakeup", "#[\"+5\"]", "[]"},
        {"setWakeup", "#[\"-5\",\"$0\"]", "[\"o+5\"]"},
        {"setWakeup", "#[\"+9223372036854775808\",\"$0\"]", "[\"o+5\"]"},
        {"setWakeup", "#[\"+\",\"$0\"]", "[\"o+5\"]"},
        {"setWakeup", "#[\"+5x\",\"$0\"]", "[\"o+5\"]"},
        {"setWakeup", "#[1.5,\"$0\"]", "[\"o+5\"]"},
        {"setWakeup", "#[\"+5\",\"$1\"]", "[\"o+5\"]"},
        {"setWakeup", "#[\"+5\",\"$0\"]", "[\"d-70\"]"},
        {"removeWakeup", "#[]", "[]"},
        {"makeRepeater", "#[\"+1\",\"+0\"]", "[]"},
        {"makeRepeater", "#[\"+1\"]", "[]"},
        {"deleteRepeater", "#[0]", "[]"},
        {"deleteRepeater", "#[-1]", "[]"},
        {"deleteRepeater", "#[\"+0\"]", "[]"},
        {"schedule", "#[0,\"$0\"]", "[\"o+5\"]"},
        {"tick", "#[]", "[]"},
    };
    struct harness harness;
    bool woken;

    (void)state;
    open_with(&harness, "clock");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        call(&harness, cases[i].method, cases[i].body, cases[i].slots, REFUSED);
    /* Beyond the end of time there is no next one. */
    call(&harness, "makeRepeater", "#[\"+9223372036854775807\",\"+9223372036854775807\"]", "[]",
         "[\"ok\",{\"body\":\"#0\",\"slots\":[]}]");
    harness_end(&harness);
    set_clock(&harness, 9, false);
    assert_int_equal(kernel_set_clock(harness.kernel, 8, &woken, &harness.error), -1);
    assert_int_equal(harness.error.kind, ERROR_INPUT);
    assert_int_equal(kernel_set_clock(harness.kernel, -1, &woken, &harness.error), -1);
    assert_int_equal(harness.error.kind, ERROR_INPUT);
    harness_close(&harness);
}

static void vat_admin_refuses_what_cannot_be(void **state)
{
    static const struct {
        const char *method, *body, *slots;
    } cases[] = {
        {"createMeter", "#[1,2]", "[]"},
        {"createMeter", "#[\"+1\"]", "[]"},
        {"createMeter", "#[\"-1\",\"+1\"]", "[]"},
        {"addMeterRemaining", "#[\"m1\",\"+1\"]", "[]"},
        {"addMeterRemaining", "#[7,\"+1\"]", "[]"},
        {"setMeterThreshold", "#[\"v1\",\"+1\"]", "[]"},
        {"getMeter", "#[\"\"]", "[]"},
        {"createByBundleID", "#[\"b1-none\",{}]", "[]"},
        {"createByBundleID", "#[7,{}]", "[]"},
        {"createByBundleID", "#[\"" BUNDLE "\"]", "[]"},
        {"createByBundleID", "#[\"" BUNDLE "\",{\"vatParameters\":\"$5\"}]", "[]"},
        {"createByBundleID", "#[\"" BUNDLE "\",{\"meterID\":\"m9\"}]", "[]"},
        {"createByBundle", "#[7,{}]", "[]"},
        {"createByBundle", "#[{\"a\":\"b\"},{}]", "[]"},
        {"createByBundle", "#[{\"moduleFormat\":\"$0\"},{}]", "[\"o+1\"]"},
        {"upgradeVat", "#[\"v9\",\"" BUNDLE "\",0,\"m\"]", "[]"},
        {"upgradeVat", "#[\"x\",\"" BUNDLE "\",0,\"m\"]", "[]"},
        {"upgradeVat", "#[\"v1\",\"b1-none\",0,\"m\"]", "[]"},
        {"upgradeVat", "#[\"v1\",\"" BUNDLE "\",0]", "[]"},
        {"upgradeVat", "#[\"v1\",\"" BUNDLE "\",\"&9\",\"m\"]", "[]"},
        {"terminateWithFailure", "#[\"v99\",0]", "[]"},
        {"terminateWithFailure", "#[\"v2\"]", "[]"},
        {"terminateWithFailure", "#[\"v2\",\"$0\"]", "[]"},
        {"terminateWithFailure", "#[null,0]", "[]"},
        {"changeOptions", "#[\"v99\",{}]", "[]"},
        {"changeOptions", "#[\"v1\",7]", "[]"},
        {"changeOptions", "#[\"v1\",{\"a\":\"$0\"}]", "[\"o+1\"]"},
        {"getBundleCap", "#[\"b1-none\"]", "[]"},
        {"getNamedBundleCap", "#[\"nobody\"]", "[]"},
        {"getNamedBundleCap", "#[]", "[]"},
        {"getBundleIDByName", "#[{}]", "[]"},
        {"selfDestruct", "#[]", "[]"},
    };
    struct harness harness;

    (void)state;
    open_with(&harness, "vatAdmin");
    harness_ok(store_bundle_put(harness.store, BUNDLE, (struct iovec){"{}", 2}, &harness.error),
               &harness.error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        call(&harness, cases[i].method, cases[i].body, cases[i].slots, REFUSED);
    harness_end(&harness);
    harness_idle(&harness);
    assert_true(harness_lives(&harness, 1));
    assert_true(harness_lives(&harness, 2));
    harness_close(&harness);
}

static void bundles_are_given_out_as_nodes(void **state)
{
    static const char bundle[] = "{\"moduleFormat\":\"endoZipBase64\",\"endoZipBase64\":\"+x\"}";
    struct harness harness;

    (void)state;
    open_with(&harness, "vatAdmin");
    harness_ok(store_bundle_put(harness.store, BUNDLE,
                                (struct iovec){(void *)(uintptr_t)bundle, sizeof bundle - 1},
                                &harness.error),
               &harness.error);
    harness_ok(kernel_name_bundle(harness.kernel, "mine", BUNDLE, &harness.error), &harness.error);
    call(&harness, "getNamedBundleCap", "#[\"mine\"]", "[]",
         "[\"ok\",{\"body\":\"#\\\"$0.Alleged: device node\\\"\",\"slots\":[\"d-71\"]}]");
    call(&harness, "getBundleCap", "#[\"" BUNDLE "\"]", "[]",
         "[\"ok\",{\"body\":\"#\\\"$0.Alleged: device node\\\"\",\"slots\":[\"d-71\"]}]");
    harness_does(&harness, "[\"callNow\",\"d-71\",\"getBundleID\",{\"body\":\"#[]\",\"slots\":[]}]",
                 "[\"ok\",{\"body\":\"#\\\"" BUNDLE "\\\"\",\"slots\":[]}]");
    harness_does(&harness, "[\"callNow\",\"d-71\",\"getBundle\",{\"body\":\"#[]\",\"slots\":[]}]",
                 "[\"ok\",{\"body\":\"#{\\\"endoZipBase64\\\":\\\"!+x\\\",\\\"moduleFormat\\\":"
                 "\\\"endoZipBase64\\\"}\",\"slots\":[]}]");
    harness_does(&harness, "[\"callNow\",\"d-71\",\"burn\",{\"body\":\"#[]\",\"slots\":[]}]",
                 REFUSED);
    harness_end(&harness);
    harness_close(&harness);
}

/* A vat with references among its parameters, made by another, over its meter at once. */
static void a_vat_is_made_and_ends_when_its_meter_is_empty(void **state)
{
    struct harness harness;

    (void)state;
    open_with(&harness, "vatAdmin");
    harness_ok(store_bundle_put(harness.store, BUNDLE, (struct iovec){"{}", 2}, &harness.error),
               &harness.error);
    call(&harness, "createMeter", "#[\"+1000\",\"+10\"]", "[]",
         "[\"ok\",{\"body\":\"#\\\"m1\\\"\",\"slots\":[]}]");
    call(&harness, "addMeterRemaining", "#[\"m1\",\"+5\"]", "[]", NOTHING);
    call(&harness, "getMeter", "#[\"m1\"]", "[]",
         "[\"ok\",{\"body\":\"#{\\\"remaining\\\":\\\"+1005\\\",\\\"threshold\\\":\\\"+10\\\"}\","
         "\"slots\":[]}]");
    call(&harness, "createByBundleID",
         "#[\"" BUNDLE "\",{\"meterID\":\"m1\",\"name\":\"child\",\"vatParameters\":[\"$0\"]}]",
         "[\"o+5\"]", "[\"ok\",{\"body\":\"#\\\"v3\\\"\",\"slots\":[]}]");
    harness_end(&harness);
    harness_expect(&harness, 3,
                   "[\"startVat\",{\"body\":\"#[\\\"$0.Alleged: undefined\\\"]\","
                   "\"slots\":[\"o-50\"]}]");
    assert_true(harness.step.delivery.metered && harness.step.delivery.creates_vat);
    harness_end(&harness);
    assert_true(harness_lives(&harness, 3));
    harness_expect(&harness, 2,
                   "[\"message\",\"o+0\",{\"methargs\":{\"body\":\"#[\\\"newVatCallback\\\","
                   "[\\\"v3\\\",{\\\"rootObject\\\":\\\"$0.Alleged: undefined\\\"}]]\",\"slots\":"
                   "[\"o-50\"]},\"result\":\"p-60\"}]");
    harness_does(&harness,
                 "[\"send\",\"o-50\",{\"methargs\":{\"body\":\"#[\\\"x\\\",[]]\",\"slots\":[]}}]",
                 "[\"ok\",null]");
    harness_end(&harness);
    assert_true(harness_next(&harness));
    assert_int_equal(harness.step.delivery.vat, 3);
    harness_end_as(&harness, KERNEL_CAME_OK, NULL, 1000);
    assert_true(harness.end.end.undone);
    assert_false(harness_lives(&harness, 3));
    harness_close(&harness);
}

/* Creates vat v3, whose first delivery hangs. */
static void quarantine_new_vat(struct harness *harness)
{
    open_with(harness, "vatAdmin");
    harness_ok(store_bundle_put(harness->store, BUNDLE, (struct iovec){"{}", 2}, &harness->error),
               &harness->error);
    call(harness, "createByBundleID", "#[\"" BUNDLE "\",{\"vatParameters\":[\"$0\"]}]", "[\"o+5\"]",
         "[\"ok\",{\"body\":\"#\\\"v3\\\"\",\"slots\":[]}]");
    harness_end(harness);
    assert_true(harness_next(harness));
    assert_true(harness->step.delivery.vat == 3 && harness->step.delivery.creates_vat);
    kernel_abandon_crank(harness->kernel);
    harness_ok(kernel_quarantine(harness->kernel, 3, "\"it hangs\"", &harness->error),
               &harness->error);
    assert_false(harness_next(harness));
    assert_true(harness_lives(harness, 3));
}

static void a_vat_whose_first_delivery_hangs_waits_for_the_operator(void **state)
{
    struct harness harness;

    (void)state;
    quarantine_new_vat(&harness);
    assert_int_equal(kernel_skip_delivery(harness.kernel, 3, &harness.error), -1);
    harness_ok(kernel_release(harness.kernel, 3, false, &harness.error), &harness.error);
    harness_expect(&harness, 3,
                   "[\"startVat\",{\"body\":\"#[\\\"$0.Alleged: undefined\\\"]\","
                   "\"slots\":[\"o-50\"]}]");
    assert_true(harness.step.delivery.creates_vat);
    harness_end(&harness);
    assert_true(harness_next(&harness));
    assert_non_null(strstr(harness.step.delivery.vd, "newVatCallback"));
    harness_end(&harness);
    assert_false(harness_next(&harness));
    harness_close(&harness);
}

static void a_vat_that_never_started_can_be_terminated(void **state)
{
    struct harness harness;
    struct buf records;

    (void)state;
    quarantine_new_vat(&harness);
    harness_ok(kernel_terminate(harness.kernel, 3, &harness.error), &harness.error);
    assert_true(harness_next(&harness));
    assert_non_null(strstr(harness.step.delivery.vd, "[\\\"v3\\\",true,"));
    assert_non_null(strstr(harness.step.delivery.vd, "vatTerminated"));
    harness_end(&harness);
    harness_idle(&harness);
    assert_false(harness_lives(&harness, 3));
    records = harness_records(&harness, "v3.");
    assert_int_equal(records.length, 0);
    buf_free(&records);
    harness_close(&harness);
}

static void an_upgrade_that_fails_leaves_the_vat_as_it_was(void **state)
{
    struct harness harness;
    struct kernel_vat vat;
    bool found;

    (void)state;
    open_with(&harness, "vatAdmin");
    harness_ok(store_bundle_put(harness.store, BUNDLE, (struct iovec){"{}", 2}, &harness.error),
               &harness.error);
    call(&harness, "upgradeVat", "#[\"v1\",\"" BUNDLE "\",\"#undefined\",\"better\"]", "[]",
         "[\"ok\",{\"body\":\"#\\\"up1\\\"\",\"slots\":[]}]");
    harness_end(&harness);
    harness_expect(&harness, 1, "[\"bringOutYourDead\"]");
    harness_end(&harness);
    assert_true(harness.end.again);
    assert_true(harness.end.delivery.starts_incarnation);
    assert_int_equal(harness.end.delivery.incarnation, 1);
    harness_end_as(&harness, KERNEL_CAME_ERROR, "kinds are missing", 5);
    assert_false(harness.end.again);
    assert_true(harness.end.end.undone);
    assert_int_equal(harness.end.end.stopped_count, 1);
    harness_ok(kernel_vat_get(harness.kernel, 1, &vat, &found, &harness.error), &harness.error);
    assert_true(found);
    assert_int_equal(vat.incarnation, 0);
    assert_string_equal(vat.bundle_id, "b1-x");
    kernel_vat_free(&vat);
    harness_expect(&harness, 2,
                   "[\"message\",\"o+0\",{\"methargs\":{\"body\":\"#[\\\"vatUpgradeCallback\\\","
                   "[\\\"up1\\\",false,{\\\"#error\\\":\\\"vat-upgrade failure\\\",\\\"name\\\":"
                   "\\\"Error\\\"}]]\",\"slots\":[]},\"result\":\"p-60\"}]");
    harness_end(&harness);
    harness_close(&harness);
}

/* The vatAdmin vat decides which vats get that device. */
static void a_vat_can_end_itself_by_the_device(void **state)
{
    struct harness harness;

    (void)state;
    open_with(&harness, "vatAdmin");
    call(&harness, "terminateWithFailure", "#[\"v1\",\"enough\"]", "[]", NOTHING);
    assert_int_equal(harness_syscall(&harness, "[\"vatstoreGet\",\"k\"]"), KERNEL_ILLEGAL);
    harness_end(&harness);
    harness_idle(&harness);
    assert_false(harness_lives(&harness, 1));
    assert_true(harness_lives(&harness, 2));
    harness_close(&harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_no_other_device),
        cmocka_unit_test(echo_gives_back_adds_and_fails),
        cmocka_unit_test(echo_notifies_its_listener),
        cmocka_unit_test(the_clock_wakes_in_the_order_of_time),
        cmocka_unit_test(the_clock_forgets_and_repeats),
        cmocka_unit_test(the_clock_refuses_what_cannot_be),
        cmocka_unit_test(vat_admin_refuses_what_cannot_be),
        cmocka_unit_test(bundles_are_given_out_as_nodes),
        cmocka_unit_test(a_vat_is_made_and_ends_when_its_meter_is_empty),
        cmocka_unit_test(a_vat_whose_first_delivery_hangs_waits_for_the_operator),
        cmocka_unit_test(a_vat_that_never_started_can_be_terminated),
        cmocka_unit_test(an_upgrade_that_fails_leaves_the_vat_as_it_was),
        cmocka_unit_test(a_vat_can_end_itself_by_the_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
