/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/replay/transcript.h"

#define TIME ",\"time\":1.5,\"monotime\":1}\n"
#define CREATE                                                                                     \
    "{\"type\":\"create-vat\",\"vatID\":\"v1\",\"name\":\"bank\",\"managerType\":\"xsnap\","       \
    "\"vatSourceBundle\":{\"moduleFormat\":\"x\"}" TIME
#define ENTRY                                                                                      \
    "{\"d\":[\"startVat\",{}],\"sc\":[{\"s\":[\"vatstoreGet\",\"k\"],\"r\":[\"ok\",null]}],"       \
    "\"r\":{\"status\":\"ok\",\"metering\":{\"computrons\":77}}}\n"

static char path[] = "/tmp/test_transcript.XXXXXX";

static struct transcript *open_text(const char *text)
{
    FILE *file = fopen(path, "w");
    struct transcript *transcript;
    struct error error;

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    transcript = transcript_open(path, &error);
    assert_non_null(transcript);
    return transcript;
}

/* The next step is of this kind and has this JSON (NULL: none). */
static struct transcript_step expect(struct transcript *transcript, enum transcript_kind kind,
                                     const char *json)
{
    struct transcript_step step;
    struct error error;

    assert_int_equal(transcript_next(transcript, &step, &error), 1);
    assert_int_equal(step.kind, kind);
    assert_true(json == NULL ? step.json.at == NULL : scan_is(step.json, json));
    assert_true(scan_is(step.vat_id, "v1"));
    return step;
}

static void expect_end(struct transcript *transcript)
{
    struct transcript_step step;
    struct error error;

    assert_int_equal(transcript_next(transcript, &step, &error), 0);
}

static void a_slogfile_gives_steps(void **state)
{
    struct transcript *transcript = open_text(
        "{\"type\":\"slog-start\",\"fingerprint\":\"fe\"" TIME
        "{\"type\":\"kernel-init-start\"" TIME CREATE
        "{\"type\":\"start-replay\",\"vatID\":\"v1\",\"deliveries\":1" TIME
        "{\"type\":\"deliver\",\"crankNum\":7,\"vatID\":\"v1\",\"deliveryNum\":4,\"vd\":[1]" TIME
        "{\"type\":\"syscall\",\"vatID\":\"v1\",\"deliveryNum\":4,\"syscallNum\":2,"
        "\"vsc\":[2]" TIME "{\"type\":\"console\",\"vatID\":\"v1\",\"args\":[]" TIME
        "{\"type\":\"syscall-result\",\"vatID\":\"v1\",\"vsr\":[3]" TIME
        "{\"type\":\"deliver-result\",\"vatID\":\"v1\",\"deliveryNum\":4,"
        "\"dr\":[\"error\",\"no\",{\"compute\":5,\"instructions\":6}]" TIME
        "{\"type\":\"heap-snapshot-save\",\"vatID\":\"v1\",\"snapshotID\":\"ab\"" TIME
        "{\"type\":\"heap-snapshot-load\",\"vatID\":\"v1\",\"hash\":\"ab\"" TIME
        "{\"type\":\"terminate\",\"vatID\":\"v1\"" TIME);
    struct transcript_step step;
    struct error error;

    (void)state;
    assert_int_equal(transcript_next(transcript, &step, &error), 1);
    assert_int_equal(step.kind, TRANSCRIPT_SESSION);
    assert_true(scan_is(step.json, "\"fe\""));
    step = expect(transcript, TRANSCRIPT_CREATE, "{\"moduleFormat\":\"x\"}");
    assert_true(scan_is(step.name, "bank") && scan_is(step.manager_type, "xsnap"));
    assert_int_equal(step.line, 3);
    expect(transcript, TRANSCRIPT_START, NULL);
    assert_int_equal(expect(transcript, TRANSCRIPT_DELIVER, "[1]").delivery_num, 4);
    assert_int_equal(expect(transcript, TRANSCRIPT_SYSCALL, "[2]").syscall_num, 2);
    expect(transcript, TRANSCRIPT_ANSWER, "[3]");
    step = expect(transcript, TRANSCRIPT_RESULT, NULL);
    assert_true(scan_is(step.status, "error") && scan_is(step.problem, "\"no\"") && step.metered);
    assert_int_equal(step.compute, 5);
    assert_int_equal(step.instructions, 6);
    assert_true(scan_is(expect(transcript, TRANSCRIPT_SNAPSHOT_SAVED, NULL).hash, "ab"));
    assert_true(scan_is(expect(transcript, TRANSCRIPT_SNAPSHOT_LOADED, NULL).hash, "ab"));
    expect(transcript, TRANSCRIPT_TERMINATE, NULL);
    expect_end(transcript);
    assert_false(transcript_is_torn(transcript));
    transcript_close(transcript);
}

#define UPGRADE(crank)                                                                             \
    "{\"type\":\"crank-start\",\"crankType\":\"" crank "\",\"crankNum\":6,"                        \
    "\"messageType\":\"upgrade-vat\",\"message\":{\"type\":\"upgrade-vat\",\"vatID\":\"v1\","      \
    "\"bundleID\":\"b1-c\"}" TIME

static void an_upgrade_is_a_step_once(void **state)
{
    struct transcript *transcript = open_text(CREATE UPGRADE("routing") UPGRADE(
        "delivery") "{\"type\":\"crank-start\",\"crankType\":\"delivery\",\"messageType\":"
                    "\"send\"" TIME "{\"type\":\"deliver\",\"vatID\":\"v1\",\"deliveryNum\":4,"
                    "\"replay\":true,\"vd\":[1]" TIME);
    struct transcript_step step;

    (void)state;
    expect(transcript, TRANSCRIPT_CREATE, "{\"moduleFormat\":\"x\"}");
    step = expect(transcript, TRANSCRIPT_UPGRADE, NULL);
    assert_true(scan_is(step.bundle_id, "b1-c"));
    assert_int_equal(step.line, 3);
    assert_true(expect(transcript, TRANSCRIPT_DELIVER, "[1]").replay);
    expect_end(transcript);
    transcript_close(transcript);
}

static void an_exported_transcript_gives_the_same_steps(void **state)
{
    struct transcript *transcript = open_text(
        CREATE "{\"d\":[\"initialize-worker\",{}],\"sc\":[],\"r\":{\"status\":\"ok\"}}\n" ENTRY
               "{\"d\":[\"save-snapshot\"],\"sc\":[],\"r\":{\"status\":\"ok\","
               "\"snapshotID\":\"ab\"}}\n"
               "{\"d\":[\"load-snapshot\",{\"snapshotID\":\"cd\"}],\"sc\":[],\"r\":{}}\n");
    struct transcript_step step;

    (void)state;
    expect(transcript, TRANSCRIPT_CREATE, "{\"moduleFormat\":\"x\"}");
    expect(transcript, TRANSCRIPT_START, "[\"initialize-worker\",{}]");
    assert_int_equal(expect(transcript, TRANSCRIPT_DELIVER, "[\"startVat\",{}]").delivery_num, 1);
    expect(transcript, TRANSCRIPT_SYSCALL, "[\"vatstoreGet\",\"k\"]");
    expect(transcript, TRANSCRIPT_ANSWER, "[\"ok\",null]");
    step = expect(transcript, TRANSCRIPT_RESULT, "[\"ok\",null]");
    assert_true(scan_is(step.status, "ok") && step.problem.at == NULL);
    assert_int_equal(step.compute, 77);
    assert_int_equal(step.instructions, TRANSCRIPT_NONE);
    assert_true(
        scan_is(expect(transcript, TRANSCRIPT_SNAPSHOT_SAVED, "[\"save-snapshot\"]").hash, "ab"));
    step = expect(transcript, TRANSCRIPT_SNAPSHOT_LOADED,
                  "[\"load-snapshot\",{\"snapshotID\":\"cd\"}]");
    assert_true(scan_is(step.hash, "cd"));
    expect_end(transcript);
    transcript_close(transcript);
}

static void a_step_can_be_given_back(void **state)
{
    struct transcript *transcript = open_text(CREATE ENTRY);

    (void)state;
    expect(transcript, TRANSCRIPT_CREATE, "{\"moduleFormat\":\"x\"}");
    expect(transcript, TRANSCRIPT_DELIVER, "[\"startVat\",{}]");
    expect(transcript, TRANSCRIPT_SYSCALL, "[\"vatstoreGet\",\"k\"]");
    transcript_unread(transcript);
    expect(transcript, TRANSCRIPT_SYSCALL, "[\"vatstoreGet\",\"k\"]");
    expect(transcript, TRANSCRIPT_ANSWER, "[\"ok\",null]");
    transcript_close(transcript);
}

static void a_torn_last_line_is_the_end(void **state)
{
    static const char *const torn[] = {CREATE "{\"d\":[\"startVat\"],\"sc\":[],\"r\":{\"sta",
                                       CREATE "{\"type\":\"deliver\",\"vatID\":\"v1\",\"vd\":["};

    (void)state;
    for (size_t i = 0; i < sizeof torn / sizeof *torn; i++) {
        struct transcript *transcript = open_text(torn[i]);

        expect(transcript, TRANSCRIPT_CREATE, "{\"moduleFormat\":\"x\"}");
        expect_end(transcript);
        assert_true(transcript_is_torn(transcript));
        transcript_close(transcript);
    }
}

static void bad_lines_are_named(void **state)
{
    static const char *const bad[] = {
        "{\"type\":\"deliver\",\"vatID\":\"v1\",\"deliveryNum\":1" TIME,
        "{\"type\":\"deliver\",\"deliveryNum\":1,\"vd\":[]" TIME,
        "{\"type\":\"syscall\",\"vatID\":\"v1\",\"deliveryNum\":1" TIME,
        "{\"type\":\"syscall-result\",\"vatID\":\"v1\",\"deliveryNum\":1" TIME,
        "{\"type\":\"deliver-result\",\"vatID\":\"v1\",\"dr\":[\"ok\"]" TIME,
        "{\"d\":7,\"sc\":[],\"r\":{\"status\":\"ok\"}}\n",
        "{\"d\":[\"startVat\"],\"sc\":7,\"r\":{\"status\":\"ok\"}}\n",
        "{\"d\":[\"startVat\"],\"sc\":[]}\n",
        "{\"d\":[\"startVat\"]\n",
        "nonsense\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[1024];
        struct transcript *transcript;
        struct transcript_step step;
        struct error error;

        snprintf(text, sizeof text, CREATE "%s" CREATE, bad[i]);
        transcript = open_text(text);
        expect(transcript, TRANSCRIPT_CREATE, "{\"moduleFormat\":\"x\"}");
        assert_int_equal(transcript_next(transcript, &step, &error), -1);
        assert_int_equal(error.kind, ERROR_INPUT);
        assert_non_null(strstr(error.text, ":2: "));
        transcript_close(transcript);
    }
}

static void entries_need_a_vat(void **state)
{
    struct transcript *transcript = open_text(ENTRY);
    struct transcript_step step;
    struct error error;

    (void)state;
    assert_int_equal(transcript_next(transcript, &step, &error), -1);
    assert_non_null(strstr(error.text, "create-vat"));
    transcript_close(transcript);
}

static int make_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slogfile_gives_steps),
        cmocka_unit_test(an_upgrade_is_a_step_once),
        cmocka_unit_test(an_exported_transcript_gives_the_same_steps),
        cmocka_unit_test(a_step_can_be_given_back),
        cmocka_unit_test(a_torn_last_line_is_the_end),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(entries_need_a_vat),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
