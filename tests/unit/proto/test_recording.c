/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/recording.h"

static struct iovec text_of(const char *text)
{
    return (struct iovec){(char *)text, strlen(text)};
}

static void a_head_comes_out_as_it_was_put(void **state)
{
    const struct recording_head head = {
        .compute_limit = UINT32_MAX,
        .compute_interval = 10,
        .parser_kb = 8192,
        .from_snapshot = true,
    };
    struct recording_head again;
    struct buf buf = {0};
    struct error error;

    (void)state;
    recording_put_head(&buf, &head);
    assert_int_equal(recording_take_head(&again, (struct iovec){buf.data, buf.length}, &error), 0);
    assert_int_equal(again.compute_limit, UINT32_MAX);
    assert_int_equal(again.compute_interval, 10);
    assert_int_equal(again.parser_kb, 8192);
    assert_true(again.from_snapshot);
    buf_free(&buf);
}

static void what_is_no_head_is_refused(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "not a recorded session"},
        {"gaspipe-recording", "not a recorded session"},
        {"gaspipe-recording ", "broken"},
        {"gaspipe-recording 2 0 0 0 0\n", "version 2"},
        {"gaspipe-recording 1 0 0 0 0", "broken"},
        {"gaspipe-recording 1 0 0 0 2\n", "broken"},
        {"gaspipe-recording 1 -1 0 0 0\n", "broken"},
        {"gaspipe-recording 1 4294967296 0 0 0\n", "broken"},
        {"gaspipe-recording 1  0 0 0 0\n", "broken"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct recording_head head;
        struct error error = {0};

        assert_int_equal(recording_take_head(&head, text_of(cases[i].text), &error), -1);
        assert_int_equal(error.kind, ERROR_INPUT);
        assert_non_null(strstr(error.text, cases[i].words));
    }
}

static void a_frame_comes_out_as_it_was_put(void **state)
{
    static const char bytes[] = {'.', ' ', '1'};
    const struct stamp stamp = {.real = INT64_MAX, .mono = 0};
    char record[RECORDING_PREFIX_SIZE + 3];
    size_t length = recording_put_prefix(record, RECORDING_UP, stamp);
    struct recorded_frame frame;
    struct error error;

    (void)state;
    memcpy(record + length, bytes, sizeof bytes);
    assert_int_equal(recording_take_frame(&frame, (struct iovec){record, length + 3}, &error), 0);
    assert_int_equal(frame.direction, RECORDING_UP);
    assert_int_equal(frame.stamp.real, INT64_MAX);
    assert_int_equal(frame.stamp.mono, 0);
    assert_int_equal(frame.bytes.iov_len, 3);
    assert_memory_equal(frame.bytes.iov_base, bytes, sizeof bytes);
}

static void what_is_no_frame_is_refused(void **state)
{
    static const char *const cases[] = {
        "",       ">",       "> ",
        "x 1 2 ", ">1 2 ",   "> 1",
        "> 1 2",  "> -1 2 ", "> 1 9223372036854775808 ",
        "> 1  ",
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct recorded_frame frame;
        struct error error = {0};

        assert_int_equal(recording_take_frame(&frame, text_of(cases[i]), &error), -1);
        assert_int_equal(error.kind, ERROR_INPUT);
    }
}

static void a_file_is_known_by_its_beginning(void **state)
{
    static const char whole[] = "28:gaspipe-recording 1 0 0 0 0\n,";

    (void)state;
    assert_true(recording_begins(whole, sizeof whole - 1));
    assert_false(recording_begins(whole, 10));
    assert_false(recording_begins("{\"type\":\"slog-start\"}", 21));
    assert_false(recording_begins("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_comes_out_as_it_was_put),
        cmocka_unit_test(what_is_no_head_is_refused),
        cmocka_unit_test(a_frame_comes_out_as_it_was_put),
        cmocka_unit_test(what_is_no_frame_is_refused),
        cmocka_unit_test(a_file_is_known_by_its_beginning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
