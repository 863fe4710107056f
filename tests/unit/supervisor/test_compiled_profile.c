/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "supervisor/profile/compiled_profile.h"

/* Two regions, of which the second knows the same functions by other numbers. */
static const char regions[] = "region 1000 2000 12 77 worker\n"
                              "function 3 10 outer a.c\n"
                              "stack 5 0 3 1 7\n"
                              "function 9 0 inner -\n"
                              "stack 8 5 9 2 5\n"
                              "line 3 11 7 a.c\n"
                              "line 9 0 5 -\n"
                              "end\n"
                              "region 3000 4000 4 77 worker\n"
                              "function 1 0 inner -\n"
                              "stack 1 0 1 1 3\n"
                              "line 1 0 3 -\n"
                              "end\n";

static void feed(struct cost_stream *stream, const char *bytes, size_t length)
{
    struct error error;

    assert_int_equal(cost_stream_feed(stream, bytes, length, &error), 0);
}

static void regions_come_however_they_are_cut(void **state)
{
    (void)state;
    for (size_t piece = 1; piece < sizeof regions; piece++) {
        struct cost_stream stream = {0};

        for (size_t at = 0; at < sizeof regions - 1; at += piece)
            feed(&stream, regions + at,
                 piece < sizeof regions - 1 - at ? piece : sizeof regions - 1 - at);
        assert_int_equal(stream.process, 77);
        assert_int_equal(stream.regions->began, 1000);
        assert_int_equal(stream.regions->ended, 2000);
        assert_int_equal(stream.regions->cost, 12);
        assert_int_equal(stream.regions->next->cost, 4);
        assert_null(stream.regions->next->next);
        cost_stream_free(&stream);
    }
}

static void a_region_is_a_profile(void **state)
{
    struct cost_stream stream = {0};
    struct profile profile;
    struct error error;

    (void)state;
    feed(&stream, regions, sizeof regions - 1);
    assert_int_equal(cost_stream_profile(&profile, stream.regions, &error), 0);
    assert_int_equal(profile.function_count, 2);
    assert_string_equal(profile.functions[0].name, "outer");
    assert_string_equal(profile.functions[0].module, "worker");
    assert_string_equal(profile.functions[0].file, "a.c");
    assert_int_equal(profile.functions[0].line, 10);
    assert_int_equal(profile.functions[0].self.of[0], 7);
    assert_int_equal(profile.functions[0].total.of[0], 12);
    assert_null(profile.functions[1].file);
    assert_int_equal(profile.functions[1].total.of[0], 5);
    assert_int_equal(profile.node_count, 3);
    assert_int_equal(profile.nodes[2].caller, 1);
    assert_int_equal(profile.nodes[2].calls, 2);
    assert_int_equal(profile.line_count, 2);
    assert_int_equal(profile.lines[0].line, 11);
    profile_close(&profile);
    cost_stream_free(&stream);
}

static void code_without_function_is_named(void **state)
{
    struct cost_stream stream = {0};
    struct profile profile;
    struct error error;

    (void)state;
    feed(&stream, regions, sizeof regions - 1);
    cost_stream_forget(&stream, stream.regions);
    assert_int_equal(cost_stream_profile(&profile, stream.regions, &error), 0);
    assert_int_equal(profile.function_count, 2);
    assert_string_equal(profile.functions[1].name, "[unprofiled]");
    assert_int_equal(profile.functions[1].self.of[0], 1);
    profile_close(&profile);
    cost_stream_free(&stream);
}

/* One function calls itself so often. */
static void put_deep(struct buf *text, unsigned depth)
{
    buf_append_string(text, "region 1 2 1 77 worker\nfunction 1 0 f -\n");
    for (unsigned i = 1; i <= depth; i++)
        buf_printf(text, "stack %u %u 1 1 %u\n", i, i - 1, i == depth);
    buf_append_string(text, "end\n");
    assert_false(buf_failed(text));
}

static void chains_have_an_end(void **state)
{
    struct error error;

    (void)state;
    for (unsigned depth = 1000; depth < 2000; depth += 100) {
        struct cost_stream stream = {0};
        struct profile profile;
        struct buf text = {0};

        put_deep(&text, depth);
        feed(&stream, text.data, text.length);
        if (depth == 1000) {
            assert_int_equal(cost_stream_profile(&profile, stream.regions, &error), 0);
        } else {
            assert_int_equal(cost_stream_profile(&profile, stream.regions, &error), -1);
            assert_int_equal(error.kind, ERROR_INPUT);
        }
        profile_close(&profile);
        cost_stream_free(&stream);
        buf_free(&text);
    }
}

static void rejects_forms_that_no_meter_writes(void **state)
{
    static const char *const heads[] = {
        "end\n",
        "region\nend\n",
        "region 1 2 3 4\nend\n",
        "region 1 2 3 0 worker\nend\n",
        "region 1 2 3 2147483648 worker\nend\n",
        "region 9223372036854775808 2 3 4 worker\nend\n",
        "region 1 2 18446744073709551616 4 worker\nend\n",
        "process 3 worker\nend\n",
    };
    struct error error;

    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct cost_stream stream = {0};

        assert_int_equal(cost_stream_feed(&stream, heads[i], strlen(heads[i]), &error), -1);
        assert_int_equal(error.kind, ERROR_INPUT);
        cost_stream_free(&stream);
    }
    {
        static const char with_nul[] = "region 1 2 3 4 worker\n\0\nend\n";
        struct cost_stream stream = {0};

        assert_int_equal(cost_stream_feed(&stream, with_nul, sizeof with_nul - 1, &error), -1);
        cost_stream_free(&stream);
    }
}

static void a_line_without_an_end_is_refused(void **state)
{
    static const char piece[1 << 16] = "region 1 2 3 4 worker, and zeros after it";
    struct cost_stream stream = {0};
    struct error error;
    int fed = 0, result = 0;

    (void)state;
    while (result == 0 && fed < 1000) {
        result = cost_stream_feed(&stream, piece, sizeof piece, &error);
        fed++;
    }
    assert_int_equal(result, -1);
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_int_equal(fed, 17); /* as soon as it is longer than a MiB */
    cost_stream_free(&stream);
}

static void profiles_that_are_none_are_refused(void **state)
{
    static const char *const bodies[] = {
        "stack 1 0 1 1 3\n",                                      /* no such function */
        "function 1 0 f -\nstack 1 2 1 1 3\n",                    /* no such parent */
        "function 1 0 f -\nstack 1 1 1 1 3\n",                    /* its own parent */
        "function 1 0 f -\nfunction 1 0 g -\n",                   /* a number twice */
        "function 1 0 f -\nstack 1 0 1 1 3\nstack 1 0 1 1 0\n",   /* likewise */
        "function 1 0 f\n",                                       /* cut */
        "function 1 0 f -\nstack 1 0 1 1\n",                      /* likewise */
        "function 1 0 f -\nstack 1 0 1 1 4\n",                    /* more than its cost */
        "function 1 0 f -\nstack 1 0 1 1 18446744073709551615\n", /* beyond all numbers */
        "function 1 0 f -\nstack 1 0 1 1 9223372036854775807\nstack 2 1 1 1 1\n",
        "line 1 1 1 a.c\n", /* no such function */
        "words\n",
    };
    struct profile profile;
    struct error error;

    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct cost_stream stream = {0};
        struct buf text = {0};

        buf_printf(&text, "region 1 2 3 4 worker\n%send\n", bodies[i]);
        feed(&stream, text.data, text.length);
        assert_int_equal(cost_stream_profile(&profile, stream.regions, &error), -1);
        assert_int_equal(error.kind, ERROR_INPUT);
        profile_close(&profile);
        cost_stream_free(&stream);
        buf_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_come_however_they_are_cut),
        cmocka_unit_test(a_region_is_a_profile),
        cmocka_unit_test(code_without_function_is_named),
        cmocka_unit_test(chains_have_an_end),
        cmocka_unit_test(rejects_forms_that_no_meter_writes),
        cmocka_unit_test(a_line_without_an_end_is_refused),
        cmocka_unit_test(profiles_that_are_none_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
