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

#include "supervisor/replay/source/source.h"

#define TIME ",\"time\":1.5,\"monotime\":1}\n"
#define CREATE                                                                                     \
    "{\"type\":\"create-vat\",\"vatID\":\"v1\",\"name\":\"bank\",\"managerType\":\"xsnap\","       \
    "\"vatSourceBundle\":{\"moduleFormat\":\"x\"}" TIME
#define ENTRY                                                                                      \
    "{\"d\":[\"startVat\",{}],\"sc\":[{\"s\":[\"vatstoreGet\",\"k\"],\"r\":[\"ok\",null]}],"       \
    "\"r\":{\"status\":\"ok\",\"metering\":{\"computrons\":77}}}\n"

static char path[] = "/tmp/test_line_source.XXXXXX";

static struct replay_source *open_text(const char *text)
{
    static char *paths[] = {path};
    FILE *file = fopen(path, "w");
    struct replay_source *source;
    struct error error;

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    source = line_source_open(paths, 1, &error);
    assert_non_null(source);
    return source;
}

static int next(struct replay_source *source, struct source_event *event)
{
    struct error error;

    return source->operations->next(source, event, &error);
}

/* The next event is of this kind, and of v1. */
static struct source_event expect(struct replay_source *source, enum source_event_kind kind)
{
    struct source_event event;

    assert_int_equal(next(source, &event), 1);
    assert_int_equal(event.kind, kind);
    assert_true(scan_is(event.vat_id, "v1"));
    return event;
}

static void expect_end(struct replay_source *source)
{
    struct source_event event;

    assert_int_equal(next(source, &event), 0);
    source->operations->close(source);
}

#define SYSCALL(number, line)                                                                      \
    "{\"type\":\"syscall\",\"vatID\":\"v1\",\"deliveryNum\":4,\"syscallNum\":" number "," line TIME
#define ANSWER "{\"type\":\"syscall-result\",\"vatID\":\"v1\",\"vsr\":[3]" TIME
#define DELIVER                                                                                    \
    "{\"type\":\"deliver\",\"crankNum\":7,\"vatID\":\"v1\",\"deliveryNum\":4,\"vd\":[1]" TIME

static void a_slogfile_gives_events(void **state)
{
    struct replay_source *source = open_text(
        "{\"type\":\"slog-start\",\"fingerprint\":\"fe\"" TIME
        "{\"type\":\"kernel-init-start\"" TIME CREATE
        "{\"type\":\"start-replay\",\"vatID\":\"v1\",\"deliveries\":1" TIME DELIVER SYSCALL(
            "0",
            "\"vsc\":[2]") "{\"type\":\"console\",\"vatID\":\"v1\",\"args\":[]" TIME ANSWER
                           "{\"type\":\"deliver-result\",\"vatID\":\"v1\",\"deliveryNum\":4,"
                           "\"dr\":[\"error\",\"no\",{\"compute\":5,\"instructions\":6,"
                           "\"allocate\":7}]" TIME "{\"type\":\"heap-snapshot-save\",\"vatID\":"
                           "\"v1\",\"snapshotID\":\"ab\"" TIME
                           "{\"type\":\"heap-snapshot-load\",\"vatID\":\"v1\",\"hash\":\"ab\"" TIME
                           "{\"type\":\"terminate\",\"vatID\":\"v1\"" TIME);
    const struct recorded_delivery *delivery;
    struct source_event event;

    (void)state;
    assert_int_equal(next(source, &event), 1);
    assert_int_equal(event.kind, SOURCE_SESSION);
    assert_true(scan_is(event.fingerprint, "fe"));
    event = expect(source, SOURCE_CREATE);
    assert_true(scan_is(event.bundle, "{\"moduleFormat\":\"x\"}"));
    assert_true(scan_is(event.name, "bank") && scan_is(event.manager_type, "xsnap"));
    assert_int_equal(event.line, 3);
    expect(source, SOURCE_START);
    event = expect(source, SOURCE_DELIVERY);
    delivery = event.delivery;
    assert_int_equal(event.delivery_num, 4);
    assert_int_equal(event.line, 5);
    assert_int_equal(event.disorder, 0);
    assert_true(scan_is(delivery->delivery, "[1]"));
    assert_int_equal(delivery->syscall_count, 1);
    assert_true(scan_is(delivery->syscalls[0].made, "[2]"));
    assert_true(scan_is(delivery->syscalls[0].answer, "[3]"));
    assert_int_equal(delivery->syscalls[0].line, 6);
    assert_true(delivery->finished);
    assert_true(scan_is(delivery->result.status, "error"));
    assert_true(scan_is(delivery->result.problem, "\"no\""));
    assert_int_equal(delivery->result.compute, 5);
    assert_int_equal(delivery->result.instructions, 6);
    assert_int_equal(delivery->result.allocate, 7);
    assert_int_equal(delivery->result.line, 9);
    assert_true(scan_is(expect(source, SOURCE_SNAPSHOT_SAVED).hash, "ab"));
    assert_true(scan_is(expect(source, SOURCE_SNAPSHOT_LOADED).hash, "ab"));
    expect(source, SOURCE_TERMINATE);
    assert_false(source->torn);
    expect_end(source);
}

static void a_delivery_without_a_result_is_not_finished(void **state)
{
    struct replay_source *source =
        open_text(CREATE DELIVER SYSCALL("0", "\"vsc\":[2]") ANSWER SYSCALL("1", "\"vsc\":[4]")
                      DELIVER "{\"type\":\"syscall\",\"vatID\":\"v2\",\"vsc\":[2]" TIME);
    struct source_event event;

    (void)state;
    expect(source, SOURCE_CREATE);
    event = expect(source, SOURCE_DELIVERY);
    assert_false(event.delivery->finished);
    assert_int_equal(event.delivery->syscall_count, 2);
    assert_null(event.delivery->syscalls[1].answer.at);
    assert_int_equal(event.disorder, 0);
    /* The next one is there, and takes nothing of another vat. */
    event = expect(source, SOURCE_DELIVERY);
    assert_int_equal(event.line, 6);
    assert_int_equal(event.delivery->syscall_count, 0);
    expect_end(source);
}

static void lines_out_of_order_are_reported(void **state)
{
    static const uint64_t lines[] = {3, 4, 5};
    static const char *const wrong[] = {
        CREATE DELIVER ANSWER,
        CREATE DELIVER SYSCALL("0", "\"vsc\":[2]") SYSCALL("1", "\"vsc\":[2]"),
        CREATE DELIVER SYSCALL("0", "\"vsc\":[2]") ANSWER ANSWER,
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct replay_source *source = open_text(wrong[i]);

        expect(source, SOURCE_CREATE);
        assert_int_equal(expect(source, SOURCE_DELIVERY).disorder, lines[i]);
        expect_end(source);
    }
}

#define UPGRADE(crank)                                                                             \
    "{\"type\":\"crank-start\",\"crankType\":\"" crank "\",\"crankNum\":6,"                        \
    "\"messageType\":\"upgrade-vat\",\"message\":{\"type\":\"upgrade-vat\",\"vatID\":\"v1\","      \
    "\"bundleID\":\"b1-c\"}" TIME

static void an_upgrade_is_an_event_once(void **state)
{
    struct replay_source *source = open_text(CREATE UPGRADE("routing") UPGRADE(
        "delivery") "{\"type\":\"crank-start\",\"crankType\":\"delivery\",\"messageType\":"
                    "\"send\"" TIME "{\"type\":\"deliver\",\"vatID\":\"v1\",\"deliveryNum\":4,"
                    "\"replay\":true,\"vd\":[1]" TIME);
    struct source_event event;

    (void)state;
    expect(source, SOURCE_CREATE);
    event = expect(source, SOURCE_UPGRADE);
    assert_true(scan_is(event.bundle_id, "b1-c"));
    assert_int_equal(event.line, 3);
    assert_true(expect(source, SOURCE_DELIVERY).replay);
    expect_end(source);
}

static void a_transcript_gives_the_same_events(void **state)
{
    struct replay_source *source = open_text(
        CREATE "{\"d\":[\"initialize-worker\",{}],\"sc\":[],\"r\":{\"status\":\"ok\"}}\n" ENTRY
               "{\"d\":[\"save-snapshot\"],\"sc\":[],\"r\":{\"status\":\"ok\","
               "\"snapshotID\":\"ab\"}}\n"
               "{\"d\":[\"load-snapshot\",{\"snapshotID\":\"cd\"}],\"sc\":[],\"r\":{}}\n");
    const struct recorded_delivery *delivery;
    struct source_event event;

    (void)state;
    expect(source, SOURCE_CREATE);
    expect(source, SOURCE_START);
    event = expect(source, SOURCE_DELIVERY);
    delivery = event.delivery;
    assert_int_equal(event.delivery_num, 1);
    assert_true(scan_is(delivery->delivery, "[\"startVat\",{}]"));
    assert_int_equal(delivery->syscall_count, 1);
    assert_true(scan_is(delivery->syscalls[0].made, "[\"vatstoreGet\",\"k\"]"));
    assert_true(scan_is(delivery->syscalls[0].answer, "[\"ok\",null]"));
    assert_true(scan_is(delivery->result.status, "ok") && delivery->result.problem.at == NULL);
    assert_int_equal(delivery->result.compute, 77);
    assert_int_equal(delivery->result.instructions, RECORDED_NONE);
    assert_true(scan_is(expect(source, SOURCE_SNAPSHOT_SAVED).hash, "ab"));
    assert_true(scan_is(expect(source, SOURCE_SNAPSHOT_LOADED).hash, "cd"));
    expect_end(source);
}

static void transcripts_of_old_kernels_are_completed(void **state)
{
    struct replay_source *source = open_text(
        CREATE "{\"d\":[\"startVat\"],\"syscalls\":[{\"d\":[\"vatstoreGet\",\"k\"],\"response\":"
               "\"v\"},{\"d\":[\"send\"],\"response\":[\"ok\",null]}]}\n");
    const struct recorded_delivery *delivery;

    (void)state;
    expect(source, SOURCE_CREATE);
    delivery = expect(source, SOURCE_DELIVERY).delivery;
    assert_true(scan_is(delivery->delivery, "[\"startVat\"]"));
    assert_int_equal(delivery->syscall_count, 2);
    assert_true(scan_is(delivery->syscalls[0].made, "[\"vatstoreGet\",\"k\"]"));
    assert_true(scan_is(delivery->syscalls[0].answer, "[\"ok\",\"v\"]"));
    assert_true(scan_is(delivery->syscalls[1].answer, "[\"ok\",null]"));
    assert_true(delivery->finished && delivery->result.status.at == NULL);
    expect_end(source);
}

static void a_torn_last_line_is_the_end(void **state)
{
    static const char *const torn[] = {CREATE "{\"d\":[\"startVat\"],\"sc\":[],\"r\":{\"sta",
                                       CREATE "{\"type\":\"deliver\",\"vatID\":\"v1\",\"vd\":["};

    (void)state;
    for (size_t i = 0; i < sizeof torn / sizeof *torn; i++) {
        struct replay_source *source = open_text(torn[i]);
        struct source_event event;

        expect(source, SOURCE_CREATE);
        assert_int_equal(next(source, &event), 0);
        assert_true(source->torn);
        source->operations->close(source);
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
        "{\"d\":[\"startVat\"],\"sc\":[{\"s\":[]}],\"r\":{\"status\":\"ok\"}}\n",
        "{\"d\":[\"startVat\"],\"sc\":[]}\n",
        "{\"d\":[\"startVat\"]\n",
        "nonsense\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[1024];
        struct replay_source *source;
        struct source_event event;
        struct error error;

        snprintf(text, sizeof text, CREATE "%s" CREATE, bad[i]);
        source = open_text(text);
        expect(source, SOURCE_CREATE);
        assert_int_equal(source->operations->next(source, &event, &error), -1);
        assert_int_equal(error.kind, ERROR_INPUT);
        assert_non_null(strstr(error.text, ":2: "));
        source->operations->close(source);
    }
}

static void entries_need_a_vat(void **state)
{
    struct replay_source *source = open_text(ENTRY);
    struct source_event event;
    struct error error;

    (void)state;
    assert_int_equal(source->operations->next(source, &event, &error), -1);
    assert_non_null(strstr(error.text, "create-vat"));
    source->operations->close(source);
}

static void several_files_are_one(void **state)
{
    char *paths[] = {path, path};
    struct error error;
    struct replay_source *source;

    (void)state;
    source = open_text(CREATE ENTRY);
    source->operations->close(source);
    source = line_source_open(paths, 2, &error);
    assert_non_null(source);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(expect(source, SOURCE_CREATE).line, 1);
        assert_int_equal(expect(source, SOURCE_DELIVERY).line, 2);
    }
    expect_end(source);
}

/* As swing-store names transcripts that it exports. */
static void name_holds_vat_and_first_number(void **state)
{
    char directory[] = "/tmp/test_line_source.XXXXXX", name[128];
    char *paths[] = {name};
    struct replay_source *source;
    struct source_event event;
    struct error error;
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(name, sizeof name, "%s/transcript.v1.17.19", directory);
    file = fopen(name, "w");
    assert_non_null(file);
    fputs(ENTRY ENTRY, file);
    assert_int_equal(fclose(file), 0);
    source = line_source_open(paths, 1, &error);
    assert_non_null(source);
    assert_int_equal(expect(source, SOURCE_DELIVERY).delivery_num, 17);
    event = expect(source, SOURCE_DELIVERY);
    assert_int_equal(event.delivery_num, 18);
    expect_end(source);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(rmdir(directory), 0);
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
        cmocka_unit_test(a_slogfile_gives_events),
        cmocka_unit_test(a_delivery_without_a_result_is_not_finished),
        cmocka_unit_test(lines_out_of_order_are_reported),
        cmocka_unit_test(an_upgrade_is_an_event_once),
        cmocka_unit_test(a_transcript_gives_the_same_events),
        cmocka_unit_test(transcripts_of_old_kernels_are_completed),
        cmocka_unit_test(a_torn_last_line_is_the_end),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(entries_need_a_vat),
        cmocka_unit_test(several_files_are_one),
        cmocka_unit_test(name_holds_vat_and_first_number),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
