/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "supervisor/schedule/log/delivery_log.h"

enum { FILE_LIMIT = 1 << 20 };

/* A log that writes a slogfile, and the delivery in it. */
struct world {
    char directory[32], path[48];
    struct slog_writer *slog;
    struct delivery_log log;
    struct kernel_delivery delivery;
    json_t *kd, *vd;
    struct delivery_report report;
    struct error error;
};

static struct stamp at(int64_t microseconds)
{
    return (struct stamp){INT64_C(1795219394000000) + microseconds,
                          INT64_C(5000000000) + 1000 * microseconds};
}

static void open_world(struct world *world)
{
    const struct slog_start start = {.program = "gaspipe test", .stamp = at(0)};

    memset(world, 0, sizeof *world);
    strcpy(world->directory, "/tmp/deliverylog.XXXXXX");
    assert_non_null(mkdtemp(world->directory));
    snprintf(world->path, sizeof world->path, "%s/run.slog", world->directory);
    world->slog = slog_writer_open(world->path, &start, &world->error);
    assert_non_null(world->slog);
    delivery_log_init(&world->log, world->slog);
}

static void close_world(struct world *world)
{
    delivery_log_free(&world->log);
    assert_int_equal(slog_writer_close(world->slog, &world->error), 0);
    json_decref(world->kd);
    json_decref(world->vd);
    unlink(world->path);
    rmdir(world->directory);
}

static void begin_delivery(struct world *world, const char *dispatch, const char *kd,
                           const char *vd)
{
    world->kd = json_loads(kd, 0, NULL);
    world->vd = json_loads(vd, 0, NULL);
    assert_non_null(world->kd);
    assert_non_null(world->vd);
    world->delivery = (struct kernel_delivery){
        .vat = 3,
        .crank_num = 7,
        .delivery_num = 2,
        .dispatch = dispatch,
        .kd = kd,
        .vd = vd,
        .kd_value = world->kd,
        .vd_value = world->vd,
    };
    delivery_log_begin(&world->log, &world->delivery, "token");
    delivery_log_sent(&world->log, at(10));
}

static void begin_message(struct world *world)
{
    begin_delivery(
        world, "message",
        "[\"message\",\"ko20\",{\"methargs\":{\"body\":\"#[\\\"buy\\\",[]]\",\"slots\":[]},"
        "\"result\":\"kp40\"}]",
        "[\"message\",\"o+0\",{\"methargs\":{\"body\":\"#[\\\"buy\\\",[]]\",\"slots\":[]},"
        "\"result\":\"p-60\"}]");
}

/* A syscall that the kernel translates to `ksc`, and answers with null. */
static void log_syscall(struct world *world, const char *vsc, const char *ksc)
{
    const struct kernel_syscall_texts texts = {
        .vsc = vsc, .ksc = ksc, .ksr = "[\"ok\",null]", .vsr = "[\"ok\",null]"};
    struct buf message = {0};
    struct vat_request request;

    buf_printf(&message, "[\"syscall\",%s]", vsc);
    assert_int_equal(vat_request_parse(&request, message.data, message.length, &world->error), 0);
    delivery_log_syscall(&world->log, &request.syscall, &texts, at(20));
    delivery_log_answered(&world->log, &request.syscall, &texts, at(20), at(25));
    vat_request_free(&request);
    buf_free(&message);
}

static int end_delivery(struct world *world, const char *problem)
{
    const struct meter meter = {.compute = 1234};
    const struct delivery_end end = {
        .returned = at(40), .problem = problem, .meter = &meter, .cpu_waits = CPU_WAITS_UNKNOWN};

    return delivery_log_end(&world->log, &end, &world->report, &world->error);
}

/* The lines after slog-start, each without its times; closes the slogfile's last block. */
static void expect_lines(struct world *world, const char *expected)
{
    struct buf content = {0}, lines = {0};
    char *line, *rest;

    assert_int_equal(slog_writer_flush(world->slog, &world->error), 0);
    assert_int_equal(io_read_file(world->path, FILE_LIMIT, &content, &world->error), 0);
    assert_non_null(buf_string(&content));
    (void)strtok_r(content.data, "\n", &rest);
    while ((line = strtok_r(NULL, "\n", &rest)) != NULL) {
        char *time = strstr(line, ",\"time\":");

        assert_non_null(time);
        *time = '\0';
        buf_printf(&lines, "%s}\n", line);
    }
    assert_string_equal(buf_string(&lines) != NULL ? lines.data : "", expected);
    buf_free(&content);
    buf_free(&lines);
}

static void a_message_is_logged_and_reported(void **state)
{
    struct world world;

    (void)state;
    open_world(&world);
    begin_message(&world);
    log_syscall(&world, "[\"vatstoreGet\",\"x\"]", "[\"vatstoreGet\",\"v3\",\"x\"]");
    assert_int_equal(end_delivery(&world, NULL), 0);
    assert_string_equal(world.report.vat_id, "v3");
    assert_string_equal(world.report.vat, "token");
    assert_string_equal(world.report.description, "(o+0).buy -> p-60");
    assert_string_equal(world.report.method, "buy");
    assert_string_equal(world.report.promise, "kp40");
    assert_true(world.report.ok);
    assert_null(world.report.result);
    assert_int_equal(world.report.compute, 1234);
    assert_int_equal(world.report.total, 30000);
    assert_int_equal(world.report.kernel, REPORT_NONE);
    expect_lines(
        &world,
        "{\"type\":\"deliver\",\"crankNum\":7,\"vatID\":\"v3\",\"deliveryNum\":2,\"replay\":false,"
        "\"dispatch\":\"message\","
        "\"kd\":[\"message\",\"ko20\",{\"methargs\":{\"body\":\"#[\\\"buy\\\",[]]\",\"slots\":[]},"
        "\"result\":\"kp40\"}],"
        "\"vd\":[\"message\",\"o+0\",{\"methargs\":{\"body\":\"#[\\\"buy\\\",[]]\",\"slots\":[]},"
        "\"result\":\"p-60\"}]}\n"
        "{\"type\":\"syscall\",\"crankNum\":7,\"vatID\":\"v3\",\"deliveryNum\":2,\"syscallNum\":0,"
        "\"replay\":false,\"syscall\":\"vatstoreGet\",\"ksc\":[\"vatstoreGet\",\"v3\",\"x\"],"
        "\"vsc\":[\"vatstoreGet\",\"x\"]}\n"
        "{\"type\":\"syscall-result\",\"crankNum\":7,\"vatID\":\"v3\",\"deliveryNum\":2,"
        "\"syscallNum\":0,\"replay\":false,\"syscall\":\"vatstoreGet\",\"ksr\":[\"ok\",null],"
        "\"vsr\":[\"ok\",null]}\n"
        "{\"type\":\"deliver-result\",\"crankNum\":7,\"vatID\":\"v3\",\"deliveryNum\":2,"
        "\"replay\":false,\"dispatch\":\"message\",\"dr\":[\"ok\",null,{\"meterType\":\"xs-meter-"
        "36\",\"currentHeapCount\":0,"
        "\"compute\":1234,\"allocate\":0,\"timestamps\":[],\"monotimes\":[]}]}\n");
    close_world(&world);
}

static void the_report_has_the_result_in_plain_json(void **state)
{
    struct world world;

    (void)state;
    open_world(&world);
    begin_message(&world);
    /* Among several resolutions, picks the message's own; a bigint is the string of its digits. */
    log_syscall(&world,
                "[\"resolve\",[[\"p-61\",false,{\"body\":\"#7\",\"slots\":[]}],"
                "[\"p-60\",false,{\"body\":\"#{\\\"sum\\\":\\\"+12\\\"}\",\"slots\":[]}]]]",
                "null");
    assert_int_equal(end_delivery(&world, NULL), 0);
    assert_string_equal(world.report.result, "{\"sum\":{\"@bigint\":\"12\"}}");
    close_world(&world);
}

static void a_rejection_is_no_result(void **state)
{
    struct world world;

    (void)state;
    open_world(&world);
    begin_message(&world);
    log_syscall(&world, "[\"resolve\",[[\"p-60\",true,{\"body\":\"#7\",\"slots\":[]}]]]", "null");
    assert_int_equal(end_delivery(&world, NULL), 0);
    assert_null(world.report.result);
    close_world(&world);
}

static void the_next_delivery_knows_nothing_of_the_one_before(void **state)
{
    struct world world;

    (void)state;
    open_world(&world);
    begin_message(&world);
    log_syscall(&world, "[\"resolve\",[[\"p-60\",false,{\"body\":\"#7\",\"slots\":[]}]]]", "null");
    assert_int_equal(end_delivery(&world, NULL), 0);
    json_decref(world.kd);
    json_decref(world.vd);
    begin_delivery(&world, "notify", "[\"notify\",[]]",
                   "[\"notify\",[[\"p+1\",false,{}],[\"p+2\",true,{}]]]");
    assert_int_equal(end_delivery(&world, "it broke"), 0);
    assert_string_equal(world.report.description, "notify p+1,!p+2");
    assert_string_equal(world.report.method, "notify");
    assert_string_equal(world.report.promise, "");
    assert_null(world.report.result);
    assert_false(world.report.ok);
    assert_string_equal(world.report.error, "it broke");
    close_world(&world);
}

static void methods_are_fit_for_a_terminal(void **state)
{
    static const struct {
        const char *body, *description;
    } cases[] = {
        {"#[\\\"b\\\\u001by\\\",[]]", "(o+0).b\xef\xbf\xbdy -> null"},
        {"#[\\\"#undefined\\\",[]]", "(o+0)() -> null"},
        {"#no JSON", "(o+0).? -> null"},
        {"", "(o+0).? -> null"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world world;
        char delivery[128];

        open_world(&world);
        snprintf(
            delivery, sizeof delivery,
            "[\"message\",\"o+0\",{\"methargs\":{\"body\":\"%s\",\"slots\":[]},\"result\":null}]",
            cases[i].body);
        begin_delivery(&world, "message", delivery, delivery);
        assert_int_equal(end_delivery(&world, NULL), 0);
        assert_string_equal(world.report.description, cases[i].description);
        close_world(&world);
    }
}

static void cranks_host_failures_and_terminations_have_lines(void **state)
{
    const struct kernel_crank crank = {7, "delivery", "send", "{\"type\":\"send\"}"};
    const struct kernel_crank_end end = {
        .crank = crank, .crankhash = "aa", .activityhash = "bb", .cleaned_up = 4};
    struct world world;

    (void)state;
    open_world(&world);
    delivery_log_start_crank(&world.log, at(5));
    delivery_log_crank_started(&world.log, &crank);
    delivery_log_clist_changed(&world.log,
                               &(struct kernel_clist_change){"import", 3, "ko20", "o-50"});
    delivery_log_vat_terminated(
        &world.log,
        &(struct kernel_termination){.vat = 3, .reject = true, .info = "{\"body\":\"#1\"}"});
    delivery_log_crank_ended(&world.log, &end);
    assert_int_equal(delivery_log_check(&world.log, &world.error), 0);
    expect_lines(&world,
                 "{\"type\":\"crank-start\",\"crankType\":\"delivery\",\"crankNum\":7,"
                 "\"messageType\":\"send\",\"message\":{\"type\":\"send\"}}\n"
                 "{\"type\":\"clist\",\"crankNum\":7,\"mode\":\"import\",\"vatID\":\"v3\","
                 "\"kobj\":\"ko20\",\"vobj\":\"o-50\"}\n"
                 "{\"type\":\"terminate\",\"vatID\":\"v3\",\"shouldReject\":true,"
                 "\"info\":{\"body\":\"#1\"}}\n"
                 "{\"type\":\"vat-cleanup-complete\",\"vatID\":\"v4\"}\n"
                 "{\"type\":\"crank-finish\",\"crankType\":\"delivery\",\"messageType\":\"send\","
                 "\"crankNum\":7,\"crankhash\":\"aa\",\"activityhash\":\"bb\"}\n");
    close_world(&world);
}

static void host_failure_names_the_delivery_and_its_tries(void **state)
{
    struct world world;

    (void)state;
    open_world(&world);
    begin_delivery(&world, "bringOutYourDead", "[\"bringOutYourDead\"]", "[\"bringOutYourDead\"]");
    delivery_log_host_failure(&world.log, "its worker was killed", 2);
    expect_lines(&world, "{\"type\":\"deliver\",\"crankNum\":7,\"vatID\":\"v3\",\"deliveryNum\":2,"
                         "\"replay\":false,\"dispatch\":\"bringOutYourDead\","
                         "\"kd\":[\"bringOutYourDead\"],\"vd\":[\"bringOutYourDead\"]}\n"
                         "{\"type\":\"gaspipe-host-failure\",\"crankNum\":7,\"vatID\":\"v3\","
                         "\"deliveryNum\":2,\"problem\":\"its worker was killed\",\"tries\":2}\n");
    close_world(&world);
}

static void the_first_error_sticks(void **state)
{
    struct world world;
    struct error first;

    (void)state;
    open_world(&world);
    /* A line may hold no newline. */
    begin_delivery(&world, "bringOutYourDead", "[\"bringOutYourDead\"\n]",
                   "[\"bringOutYourDead\"]");
    assert_int_equal(delivery_log_check(&world.log, &first), -1);
    log_syscall(&world, "[\"vatstoreGet\",\"x\"]", "null");
    delivery_log_host_failure(&world.log, "its worker was killed", 1);
    assert_int_equal(end_delivery(&world, NULL), -1);
    assert_string_equal(world.error.text, first.text);
    expect_lines(&world, "");
    close_world(&world);
}

static void without_a_slog_there_is_a_report_all_the_same(void **state)
{
    struct slog_writer *slog;
    struct world world;

    (void)state;
    open_world(&world);
    slog = world.slog;
    delivery_log_init(&world.log, NULL);
    begin_message(&world);
    log_syscall(&world, "[\"resolve\",[[\"p-60\",false,{\"body\":\"#7\",\"slots\":[]}]]]", "null");
    assert_int_equal(end_delivery(&world, NULL), 0);
    assert_string_equal(world.report.result, "7");
    world.slog = slog;
    expect_lines(&world, "");
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_logged_and_reported),
        cmocka_unit_test(the_report_has_the_result_in_plain_json),
        cmocka_unit_test(a_rejection_is_no_result),
        cmocka_unit_test(the_next_delivery_knows_nothing_of_the_one_before),
        cmocka_unit_test(methods_are_fit_for_a_terminal),
        cmocka_unit_test(cranks_host_failures_and_terminations_have_lines),
        cmocka_unit_test(host_failure_names_the_delivery_and_its_tries),
        cmocka_unit_test(the_first_error_sticks),
        cmocka_unit_test(without_a_slog_there_is_a_report_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
