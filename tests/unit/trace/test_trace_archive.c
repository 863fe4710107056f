/* SPDX-License-Identifier: Apache-2.0 */
/* A trace's file added up: trace/read/trace_archive.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/read/trace_archive.h"
#include "trace/read/trace_file.h"

enum { FIRST = 1, SECOND = 2, PROCESSES = 2 };

#define ENTRY(number, time) ((uint64_t)(time) << TRACE_TIME_SHIFT | (number) << 1)
#define EXIT(number, time)  (ENTRY(number, time) | 1)
#define VALUE(low)          ENTRY((uint64_t)TRACE_VALUE, low)
#define VALUE_OF(function, which, high)                                                            \
    ENTRY((uint64_t)TRACE_VALUE_OF, (uint64_t)(function) << TRACE_VALUE_FUNCTION_SHIFT |           \
                                        (which) << TRACE_VALUE_WHICH_SHIFT | (high))

/* A process in which the first function is called so often. */
static void add_process(struct trace_file *file, uint32_t process, const struct patch_plan *plan,
                        uint64_t calls)
{
    struct error error;

    assert_int_equal(trace_file_process(file, process, 100 + process, "worker", plan, &error), 0);
    for (uint64_t i = 0; i < calls; i++) {
        const uint64_t events[] = {ENTRY(FIRST, 100 * i + 100), ENTRY(SECOND, 100 * i + 120),
                                   EXIT(SECOND, 100 * i + 130), EXIT(FIRST, 100 * i + 150)};

        assert_int_equal(trace_file_events(file, process, 0, 100 + process, events, 4, &error), 0);
    }
}

static void leave_out(struct trace_file *file, uint32_t process, uint32_t function)
{
    struct error error;

    assert_int_equal(trace_file_left_out(file, process, &function, 1, 9000, &error), 0);
}

static void write_trace(const char *path)
{
    struct planned_function functions[] = {{.name = "f", .address = 64, .size = 16},
                                           {.name = "g", .address = 80, .size = 16}};
    char module[] = "program";
    struct patch_plan plan = {
        .functions = functions, .count = 2, .modules = {module}, .module_count = 1};
    struct trace_file file = {0};
    struct error error;

    assert_int_equal(trace_file_open(&file, path, TRACE_CLOCK_TSC, &error), 0);
    assert_int_equal(trace_file_clock(&file, (struct trace_moment){1, 1}, &error), 0);
    add_process(&file, 0, &plan, 3);
    add_process(&file, 1, &plan, 5);
    leave_out(&file, 0, FIRST);
    leave_out(&file, 1, FIRST);
    assert_int_equal(trace_file_clock(&file, (struct trace_moment){10000, 10000}, &error), 0);
    assert_int_equal(trace_file_close(&file, &error), 0);
}

static const char *name_of(void *context, uint32_t function)
{
    (void)context;
    return function == FIRST ? "f" : "g";
}

/* One worker's calls do not appear in another's. */
static void excluded_calls_belong_to_their_process(void **state)
{
    static const char *const expected[PROCESSES] = {"f after 3 calls (", "f after 5 calls ("};
    const struct trace_exclusion_words words = {.name = name_of};
    char path[] = "/tmp/test_trace_archive.XXXXXX";
    struct archive archive;
    struct error error;

    (void)state;
    close(mkstemp(path));
    write_trace(path);
    assert_int_equal(archive_read(&archive, path, 0, NULL, &error), 0);
    unlink(path);
    assert_int_equal(archive.counts.events, 4 * (3 + 5));
    for (uint32_t i = 0; i < PROCESSES; i++) {
        struct buf out = {0};

        assert_int_equal(trace_exclusions_put(&archive.exclusions, i, &words, &out, &error), 0);
        assert_non_null(strstr(buf_string(&out), expected[i]));
        buf_free(&out);
    }
    archive_free(&archive);
}

/* Writes a trace of one process, which has two functions, whose requests are calls of `name` with
 * the identifiers 7 and 2^48 + 9. */
static void write_requests(const char *path, const char *name)
{
    struct planned_function functions[] = {
        {.name = "f", .address = 64}, {.name = "g", .address = 80}, {.name = "h", .address = 96}};
    char module[] = "program";
    struct patch_plan plan = {
        .functions = functions, .count = 2, .modules = {module}, .module_count = 1};
    const struct trace_request_marks marks = {.begin = name, .end = name, .begin_argument = 1};
    const uint64_t events[] = {VALUE(7),           VALUE_OF(FIRST, 1, 0), ENTRY(FIRST, 100),
                               ENTRY(SECOND, 120), EXIT(SECOND, 130),     EXIT(FIRST, 150),
                               VALUE(9),           VALUE_OF(FIRST, 1, 1), ENTRY(FIRST, 200),
                               EXIT(FIRST, 260)};
    struct trace_file file = {0};
    struct error error;

    assert_int_equal(trace_file_open(&file, path, TRACE_CLOCK_TSC, &error), 0);
    assert_int_equal(trace_file_clock(&file, (struct trace_moment){1, 1}, &error), 0);
    assert_int_equal(trace_file_process(&file, 0, 100, "server", &plan, &error), 0);
    plan.count = 3;
    assert_int_equal(trace_file_requests(&file, 0, &plan, &marks, &error), 0);
    assert_int_equal(
        trace_file_events(&file, 0, 0, 123, events, sizeof events / sizeof *events, &error), 0);
    assert_int_equal(trace_file_clock(&file, (struct trace_moment){10000, 10000}, &error), 0);
    assert_int_equal(trace_file_close(&file, &error), 0);
}

static void requests_are_deliveries_of_their_threads(void **state)
{
    char path[] = "/tmp/test_trace_archive.XXXXXX";
    struct archive archive;
    struct error error;

    (void)state;
    close(mkstemp(path));
    write_requests(path, "f");
    assert_int_equal(archive_read(&archive, path, 0, NULL, &error), 0);
    assert_int_equal(archive.delivery_count, 2);
    assert_string_equal(archive.deliveries[0].name, "t123 f(7) #1");
    assert_string_equal(archive.deliveries[1].name, "t123 f(0x1000000000009) #2");
    assert_int_equal(archive.deliveries[1].end - archive.deliveries[1].begin, 60);
    archive_free(&archive);
    /* A function that the process does not have. */
    write_requests(path, "h");
    assert_int_equal(archive_read(&archive, path, 0, NULL, &error), -1);
    assert_int_equal(error.kind, ERROR_INPUT);
    archive_free(&archive);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(excluded_calls_belong_to_their_process),
        cmocka_unit_test(requests_are_deliveries_of_their_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
