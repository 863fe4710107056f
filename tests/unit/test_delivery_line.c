/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/delivery_line.h"

static int parse(struct delivery_line *line, const char *text, struct error *error)
{
    return delivery_line_parse(line, text, strlen(text), error);
}

static void body_is(const struct delivery_line *line, const char *expected)
{
    assert_string_equal(json_string_value(json_object_get(line->methargs, "body")), expected);
    assert_int_equal(json_array_size(json_object_get(line->methargs, "slots")), 0);
}

static void a_short_line_becomes_a_message_to_the_contract(void **state)
{
    static const struct {
        const char *text, *body;
    } cases[] = {
        {"{\"vat\":\"bank\",\"method\":\"transfer\",\"args\":[\"alice\",\"bob\",10]}",
         "#[\"transfer\",[\"alice\",\"bob\",10]]"},
        {"{\"method\":\"total\",\"vat\":\"bank\"}", "#[\"total\",[]]"},
        {"{\"vat\":\"bank\",\"method\":\"x\",\"args\":[\"!a\",\"#b\",\"-c\",\".d\",\"\",{\"+e\":"
         "null}]}",
         "#[\"x\",[\"!!a\",\"!#b\",\"!-c\",\".d\",\"\",{\"!+e\":null}]]"},
        {"{\"vat\":\"bank\",\"method\":\"x\",\"args\":[\"a\\u0000b\"]}",
         "#[\"x\",[\"a\\u0000b\"]]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct delivery_line line;
        struct error error;

        assert_int_equal(parse(&line, cases[i].text, &error), 0);
        assert_string_equal(line.vat, "bank");
        assert_string_equal(line.target, "o+0");
        assert_true(line.wants_result);
        body_is(&line, cases[i].body);
        delivery_line_free(&line);
    }
}

static void a_full_line_is_taken_as_it_is(void **state)
{
    struct delivery_line line;
    struct error error;

    (void)state;
    assert_int_equal(
        parse(&line,
              "{\"vat\":\"v\",\"deliver\":[\"message\",\"o+3\","
              "{\"methargs\":{\"body\":\"[\\\"old\\\",[]]\",\"slots\":[]},\"result\":null}]}",
              &error),
        0);
    assert_string_equal(line.vat, "v");
    assert_string_equal(line.target, "o+3");
    assert_false(line.wants_result);
    body_is(&line, "[\"old\",[]]");
    delivery_line_free(&line);
}

static void what_is_no_delivery_is_refused_with_what_would_be_right(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "not JSON"},
        {"transfer", "not JSON, at byte"},
        {"{\"vat\":\"bank\",\"method\":\"x\"", "not JSON"},
        {"{\"vat\":\"bank\",\"method\":\"x\"} {}", "not JSON"},
        {"{\"vat\":\"a\",\"vat\":\"b\",\"method\":\"x\"}", "not JSON"},
        {"{\"vat\":\"\xff\",\"method\":\"x\"}", "not JSON"},
        {"[]", "not a JSON object"},
        {"7", "not"},
        {"{}", "\"vat\" must be a string"},
        {"{\"vat\":1,\"method\":\"x\"}", "\"vat\" must be a string"},
        {"{\"vat\":\"a\"}", "\"method\" must be a string"},
        {"{\"vat\":\"a\",\"method\":null}", "\"method\" must be a string"},
        {"{\"vat\":\"a\",\"method\":\"x\",\"args\":{}}", "\"args\" must be an array"},
        {"{\"vat\":\"a\",\"method\":\"x\",\"arg\":[]}", "unknown field \"arg\""},
        {"{\"vat\":\"a\\u0000b\",\"method\":\"x\"}", "\"vat\" must be a string"},
        {"{\"vat\":\"a\",\"deliver\":[]}", "\"deliver\" must be"},
        {"{\"vat\":\"a\",\"deliver\":[\"notify\",\"o+0\",{}]}", "\"deliver\" must be"},
        {"{\"vat\":\"a\",\"deliver\":[\"message\",\"o+0\",{\"methargs\":7,\"result\":null}]}",
         "\"deliver\" must be"},
        {"{\"vat\":\"a\",\"deliver\":[\"message\",\"o+0\",{\"methargs\":{\"body\":\"\",\"slots\":["
         "1]},"
         "\"result\":null}]}",
         "\"deliver\" must be"},
        {"{\"vat\":\"a\",\"deliver\":[\"message\",\"o+0\\u0000\",{\"methargs\":{\"body\":\"\","
         "\"slots\":[]},"
         "\"result\":null}]}",
         "\"deliver\" must be"},
        {"{\"vat\":\"a\",\"method\":\"x\",\"deliver\":[]}", "stands beside \"vat\" alone"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct delivery_line line;
        struct error error = {0};

        if (parse(&line, cases[i].text, &error) == 0)
            fail_msg("taken: %s", cases[i].text);
        assert_int_equal(error.kind, ERROR_INPUT);
        if (strstr(error.text, cases[i].words) == NULL)
            fail_msg("no '%s' in: %s", cases[i].words, error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_line_becomes_a_message_to_the_contract),
        cmocka_unit_test(a_full_line_is_taken_as_it_is),
        cmocka_unit_test(what_is_no_delivery_is_refused_with_what_would_be_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
