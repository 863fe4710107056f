/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/run/delivery_line.h"

static int parse(struct delivery_line *line, const char *text, struct error *error)
{
    return delivery_line_parse(line, text, strlen(text), error);
}

/* "vat" bank is ko20, "device" clock is kd30, "result" mint is kp40. */
static int find(void *context, const char *kind, const char *name, char **reference,
                struct error *error)
{
    static const char *const known[][3] = {
        {"vat", "bank", "ko20"}, {"device", "clock", "kd30"}, {"result", "mint", "kp40"}};

    (void)context;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(kind, known[i][0]) == 0 && strcmp(name, known[i][1]) == 0) {
            *reference = strdup(known[i][2]);
            return *reference != NULL ? 0 : -1;
        }
    }
    return error_set(error, ERROR_INPUT, "there is no %s \"%s\"", kind, name);
}

static const struct smallcaps_names names = {.find = find};

static void methargs_are(const struct delivery_line *line, const char *body, const char *slots)
{
    struct error error;
    json_t *methargs = delivery_line_methargs(line, &names, &error);
    char *found;

    assert_non_null(methargs);
    assert_string_equal(json_string_value(json_object_get(methargs, "body")), body);
    found = json_dumps(json_object_get(methargs, "slots"), JSON_COMPACT);
    assert_string_equal(found, slots);
    free(found);
    json_decref(methargs);
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
        assert_int_equal(line.kind, DELIVERY_LINE_SHORT);
        methargs_are(&line, cases[i].body, "[]");
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
              "{\"vat\":\"v\",\"deliver\":[\"message\",\"ko23\","
              "{\"methargs\":{\"body\":\"[\\\"old\\\",[]]\",\"slots\":[]},\"result\":null}]}",
              &error),
        0);
    assert_string_equal(line.vat, "v");
    assert_string_equal(line.target, "ko23");
    assert_int_equal(line.kind, DELIVERY_LINE_FULL);
    methargs_are(&line, "[\"old\",[]]", "[]");
    delivery_line_free(&line);
}

static void arguments_can_be_references_and_big(void **state)
{
    static const struct {
        const char *args, *body, *slots;
    } cases[] = {
        {"[{\"@vat\":\"bank\"}]", "#[\"x\",[\"$0\"]]", "[\"ko20\"]"},
        {"[{\"a\":[{\"@device\":\"clock\"},{\"@vat\":\"bank\"}]}]",
         "#[\"x\",[{\"a\":[\"$0\",\"$1\"]}]]", "[\"kd30\",\"ko20\"]"},
        {"[{\"@result\":\"mint\"}]", "#[\"x\",[\"&0\"]]", "[\"kp40\"]"},
        {"[{\"@bigint\":\"12\"},{\"@bigint\":\"-7\"}]", "#[\"x\",[\"+12\",\"-7\"]]", "[]"},
        {"[{\"@vat\":1},{\"@vat\":\"bank\",\"b\":2},{}]",
         "#[\"x\",[{\"@vat\":1},{\"@vat\":\"bank\",\"b\":2},{}]]", "[]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct delivery_line line;
        struct error error;
        char text[256];

        snprintf(text, sizeof text, "{\"vat\":\"bank\",\"method\":\"x\",\"args\":%s}",
                 cases[i].args);
        assert_int_equal(parse(&line, text, &error), 0);
        methargs_are(&line, cases[i].body, cases[i].slots);
        delivery_line_free(&line);
    }
}

static void references_to_nothing_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"{\"@vat\":\"nobody\"}", "no vat \"nobody\""},
        {"{\"@bigint\":\"1x\"}", "decimal digits"},
        {"{\"@bigint\":\"-\"}", "decimal digits"},
        {"{\"@value\":\"naN\"}", "\"@value\" takes undefined"},
        {"{\"@thing\":\"bank\"}", "\"@thing\" is not \"@vat\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct delivery_line line;
        struct error error;
        char text[256];

        snprintf(text, sizeof text, "{\"vat\":\"bank\",\"method\":\"x\",\"args\":[%s]}",
                 cases[i][0]);
        assert_int_equal(parse(&line, text, &error), 0);
        assert_null(delivery_line_methargs(&line, &names, &error));
        assert_int_equal(error.kind, ERROR_INPUT);
        if (strstr(error.text, cases[i][1]) == NULL)
            fail_msg("no '%s' in: %s", cases[i][1], error.text);
        delivery_line_free(&line);
    }
}

static void lines_to_results_and_to_the_clock(void **state)
{
    struct delivery_line line;
    struct error error;

    (void)state;
    assert_int_equal(
        parse(&line, "{\"to\":{\"@result\":\"mint\"},\"method\":\"pay\",\"id\":\"paid\"}", &error),
        0);
    assert_null(line.vat);
    assert_string_equal(line.to, "mint");
    assert_string_equal(line.id, "paid");
    methargs_are(&line, "#[\"pay\",[]]", "[]");
    delivery_line_free(&line);
    assert_int_equal(parse(&line, "{\"clock\":1000}", &error), 0);
    assert_int_equal(line.kind, DELIVERY_LINE_CLOCK);
    assert_int_equal(line.clock, 1000);
    delivery_line_free(&line);
}

static void invalid_delivery_is_refused_with_the_right_form(void **state)
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
        {"{\"clock\":-1}", "\"clock\" stands alone"},
        {"{\"clock\":1.5}", "\"clock\" stands alone"},
        {"{\"clock\":1,\"vat\":\"a\"}", "\"clock\" stands alone"},
        {"{\"to\":\"mint\",\"method\":\"x\"}", "\"to\" stands in the place of"},
        {"{\"to\":{\"@vat\":\"a\"},\"method\":\"x\"}", "\"@result\" must be a string"},
        {"{\"to\":{\"@result\":\"a\"},\"vat\":\"b\",\"method\":\"x\"}", "\"to\" stands"},
        {"{\"vat\":\"a\",\"method\":\"x\",\"id\":7}", "\"id\" must be a string"},
        {"{\"vat\":\"\",\"method\":\"x\"}", "\"vat\" must be a string"},
        {"{\"vat\":\"a\",\"deliver\":[\"message\",\"o-9\",{\"methargs\":{\"body\":\"\","
         "\"slots\":[]},\"result\":null}]}",
         "\"deliver\" must be"},
        {"{\"vat\":\"a\",\"method\":\"x\",\"deliver\":[]}", "allows no member but \"vat\""},
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
        cmocka_unit_test(arguments_can_be_references_and_big),
        cmocka_unit_test(references_to_nothing_are_refused),
        cmocka_unit_test(lines_to_results_and_to_the_clock),
        cmocka_unit_test(invalid_delivery_is_refused_with_the_right_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
