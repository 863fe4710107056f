/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/json/json_value.h"

static json_t *read_text(const char *text)
{
    return json_value_read(text, strlen(text), JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

/* `text` is read and written, and comes out as `expected`. */
static void expect_text(const char *text, const char *expected)
{
    struct buf buf = {0};
    json_t *value = read_text(text);

    if (value == NULL)
        fail_msg("%s was not read", text);
    assert_int_equal(json_value_write(&buf, value), 0);
    assert_string_equal(buf_string(&buf), expected);
    buf_free(&buf);
    json_decref(value);
}

static void expect_same(const char *text)
{
    expect_text(text, text);
}

static void common_values_round_trip(void **state)
{
    (void)state;
    expect_same("{\"b\":[1,-2,true,false,null,\"\"],\"a\":{}}");
    expect_same("\"\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f\xc3\xa9\xf0\x9f\x98\x80\"");
    expect_text("[ 0.1 , 1e2 ]", "[0.10000000000000001,100.0]");
    expect_text("\"\\ud83d\\ude00\\u0041\"", "\"\xf0\x9f\x98\x80"
                                             "A\"");
}

static void halves_of_surrogate_pairs_survive(void **state)
{
    (void)state;
    expect_same("\"\\ud800\"");
    expect_same("[\"a\\udfffb\",\"\\udc00\\ud800\",\"\\ud800\\ud800\"]");
    expect_same("{\"\\udbff\":{\"x\\udc00\":\"\\ud8ff\"}}");
    expect_text("\"\\uD8AB\\u0061\\udEaD\"", "\"\\ud8aba\\udead\"");
    expect_text("\"\\ud800\\ud83d\\ude00\"", "\"\\ud800\xf0\x9f\x98\x80\"");
    for (unsigned unit = 0xd800; unit < 0xe000; unit++) {
        struct buf text = {0};

        buf_printf(&text, "\"\\u%04x\"", unit);
        expect_same(buf_string(&text));
        buf_free(&text);
    }
}

/* A backslash that is escaped escapes nothing. */
static void an_escaped_backslash_begins_no_escape(void **state)
{
    (void)state;
    expect_same("\"\\\\ud800\"");
    expect_same("\"\\\\\\ud800\\\\\"");
    expect_same("{\"body\":\"#\\\"\\\\ud800\\\"\"}");
}

static void the_marks_own_characters_survive(void **state)
{
    (void)state;
    expect_text("\"\xef\xbf\xbe\"", "\"\\ufffe\"");
    expect_text("\"\xef\xbf\xbe\xef\xbf\xbe\\ufffe\"", "\"\\ufffe\\ufffe\\ufffe\"");
    /* Would be marks if they were not doubled. */
    expect_text("\"\xef\xbf\xbe\xe0\xa0\x80\"", "\"\\ufffe\xe0\xa0\x80\"");
    expect_text("\"\\ufffe\\u0800\\ud800\"", "\"\\ufffe\xe0\xa0\x80\\ud800\"");
    expect_text("\"\\ufffe\\u1000\"", "\"\\ufffe\xe1\x80\x80\"");
}

static void equal_strings_are_stored_once(void **state)
{
    static const char *const texts[] = {
        "\"\\ud800\"",        "\"\\ud801\"",       "\"\\udfff\"",        "\"\\ufffd\"",
        "\"\\ufffe\\u0800\"", "\"\\ufffe\"",       "\"\\ufffe\\ufffe\"", "\"\\u0800\"",
        "\"\\ufffe\\ud800\"", "\"\\ud800\\ufffe\""};
    enum { COUNT = sizeof texts / sizeof *texts };

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < COUNT; j++) {
            json_t *left = read_text(texts[i]), *right = read_text(texts[j]);

            assert_int_equal(json_equal(left, right), i == j);
            json_decref(right);
            json_decref(left);
        }
    }
}

/* jansson would refuse both strings otherwise, where the kernel packs them. */
static void strings_that_were_read_are_utf8(void **state)
{
    json_t *value = read_text("\"\\ud800\\udbff\""), *copy;

    (void)state;
    copy = json_pack("{s:s}", json_string_value(value), json_string_value(value));
    assert_non_null(copy);
    json_decref(copy);
    json_decref(value);
}

static void json_in_a_string_is_read_once_only(void **state)
{
    static const char text[] =
        "\"[\\\"\\\\ud800\\\",\\\"\\ud801\\\",\\\"\\ufffe\\\",\\\"\\\\ufffe\\\"]\"";
    json_t *outer = read_text(text), *inner;
    struct buf buf = {0};

    (void)state;
    inner =
        json_value_read_inner(json_string_value(outer), json_string_length(outer), JSON_DECODE_ANY);
    assert_int_equal(json_value_write(&buf, inner), 0);
    assert_string_equal(buf_string(&buf), "[\"\\ud800\",\"\\ud801\",\"\\ufffe\",\"\\ufffe\"]");
    buf_free(&buf);
    json_decref(inner);
    json_decref(outer);
}

static void invalid_json_stays_refused(void **state)
{
    static const char *const texts[] = {"",
                                        "\"\\ud80\"",
                                        "\"\\ud8",
                                        "\"\\",
                                        "\"\\ud800",
                                        "[\"\\ud800\"",
                                        "\\ud800",
                                        "\"\\ud800\" 1",
                                        "\"\xed\xa0\x80\"",
                                        "\"\\x\\ud800\"",
                                        "{\"\\ud800\":1,\"\\ud800\":2}"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_error_t problem = {.text = ""};
        /* Bytes after the text are not read. */
        char *exact = malloc(strlen(texts[i]) + 1);

        memcpy(exact, texts[i], strlen(texts[i]));
        assert_null(json_value_read(exact, strlen(texts[i]),
                                    JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &problem));
        assert_int_not_equal(problem.text[0], '\0');
        free(exact);
    }
}

static void places_in_the_text_stay_what_they_are(void **state)
{
    static const char text[] = "[\"\\ud800\\udfff\", oops]";
    json_error_t marked, plain;

    (void)state;
    assert_null(json_value_read(text, strlen(text), 0, &marked));
    assert_null(json_loadb("[\"123456123456\", oops]", strlen(text), 0, &plain));
    assert_int_equal(marked.position, plain.position);
}

static void no_value_is_no_text(void **state)
{
    struct buf buf = {0};

    (void)state;
    assert_int_equal(json_value_write(&buf, NULL), -1);
    buf_free(&buf);
}

static void strings_for_c_keep_their_nul(void **state)
{
    json_t *value = read_text("\"a\\u0000b\\u0000\\ud800\"");
    struct buf string = {0}, text = {0};
    const char *c_string;

    (void)state;
    json_value_c_string(&string, json_string_value(value), json_string_length(value));
    c_string = buf_string(&string);
    assert_int_equal(strlen(c_string), string.length);
    json_value_write_string(&text, c_string, strlen(c_string));
    assert_string_equal(buf_string(&text), "\"a\\u0000b\\u0000\\ud800\"");
    buf_free(&text);
    buf_free(&string);
    json_decref(value);
}

static void people_see_replacement_characters(void **state)
{
    json_t *value = read_text("\"a\\u0000\xc3\xa9\\ud800 \\ufffe.\"");
    struct buf shown = {0};

    (void)state;
    json_value_show_string(&shown, json_string_value(value), json_string_length(value));
    assert_string_equal(buf_string(&shown), "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd \xef\xbf\xbd.");
    buf_free(&shown);
    json_decref(value);
}

/* ---- how much one text may take ---- */

/* `[` and `count` times `item` with commas between. */
static void put_list(struct buf *text, const char *item, size_t count)
{
    buf_append_byte(text, '[');
    for (size_t i = 0; i < count; i++) {
        buf_append_string(text, i > 0 ? "," : "");
        buf_append_string(text, item);
    }
    buf_append_byte(text, ']');
}

static bool is_read(const struct buf *text, json_error_t *problem)
{
    json_t *value = json_value_read(text->data, text->length, 0, problem);

    json_decref(value);
    return value != NULL;
}

static void too_many_values_are_refused_before_they_take_memory(void **state)
{
    const size_t most = JSON_NODES_MAX - 1; /* besides the list itself */
    struct buf text = {0};
    json_error_t problem;

    (void)state;
    put_list(&text, "0", most);
    assert_true(is_read(&text, NULL));
    buf_clear(&text);
    put_list(&text, "0", most + 1);
    assert_false(is_read(&text, &problem));
    assert_string_equal(problem.text, "more than 2097152 values");
    assert_null(json_value_read_inner(text.data, text.length, 0));
    buf_clear(&text);
    put_list(&text, "[]", most);
    assert_false(is_read(&text, NULL));
    buf_free(&text);
}

static void commas_and_brackets_in_strings_are_no_values(void **state)
{
    struct buf text = {0};

    (void)state;
    buf_append_string(&text, "[\"\\\\\",\"\\\"");
    for (size_t i = 0; i < (size_t)2 * JSON_NODES_MAX; i++)
        buf_append_string(&text, ",[{");
    buf_append_string(&text, "\\\"\"]");
    assert_true(is_read(&text, NULL));
    buf_free(&text);
    assert_false(json_nodes_exceed("\"\\", 2, 1));
    assert_true(json_nodes_exceed("[0", 2, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(common_values_round_trip),
        cmocka_unit_test(halves_of_surrogate_pairs_survive),
        cmocka_unit_test(an_escaped_backslash_begins_no_escape),
        cmocka_unit_test(the_marks_own_characters_survive),
        cmocka_unit_test(equal_strings_are_stored_once),
        cmocka_unit_test(strings_that_were_read_are_utf8),
        cmocka_unit_test(json_in_a_string_is_read_once_only),
        cmocka_unit_test(invalid_json_stays_refused),
        cmocka_unit_test(places_in_the_text_stay_what_they_are),
        cmocka_unit_test(no_value_is_no_text),
        cmocka_unit_test(strings_for_c_keep_their_nul),
        cmocka_unit_test(people_see_replacement_characters),
        cmocka_unit_test(too_many_values_are_refused_before_they_take_memory),
        cmocka_unit_test(commas_and_brackets_in_strings_are_no_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
