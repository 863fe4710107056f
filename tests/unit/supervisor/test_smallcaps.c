/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/schedule/log/smallcaps.h"

static json_t *load(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

    assert_non_null(value);
    return value;
}

static void becomes(json_t *(*change)(const json_t *), const char *from, const char *to)
{
    json_t *value = load(from), *expected = load(to);
    json_t *changed = change(value);

    assert_non_null(changed);
    if (!json_equal(changed, expected))
        fail_msg("%s became %s, not %s", from, json_dumps(changed, JSON_ENCODE_ANY), to);
    json_decref(changed);
    json_decref(expected);
    json_decref(value);
}

static json_t *encode(const json_t *value)
{
    const struct smallcaps_names none = {0};
    json_t *slots = json_array();
    struct error error;
    json_t *encoded = smallcaps_encode(value, &none, slots, &error);

    assert_int_equal(json_array_size(slots), 0);
    json_decref(slots);
    return encoded;
}

static json_t *decode(const json_t *value)
{
    json_t *slots = load("[\"ko20\",\"kp40\"]");
    json_t *decoded = smallcaps_decode(value, slots);

    json_decref(slots);
    return decoded;
}

/* Each pair is encoded to the right and decoded to the left. */
static const char *const pairs[][2] = {
    {"null", "null"},
    {"true", "true"},
    {"-7", "-7"},
    {"1.5", "1.5"},
    {"\"\"", "\"\""},
    {"\"plain\"", "\"plain\""},
    {"\"!\"", "\"!!\""},
    {"\"!bang\"", "\"!!bang\""},
    {"\"#undefined\"", "\"!#undefined\""},
    {"\"$0.slot\"", "\"!$0.slot\""},
    {"\"%sym\"", "\"!%sym\""},
    {"\"&p\"", "\"!&p\""},
    {"\"+12\"", "\"!+12\""},
    {"\"-12\"", "\"!-12\""},
    {"\" blank\"", "\" blank\""},
    {"\".dot\"", "\".dot\""},
    {"\"/\"", "\"/\""},
    {"\"!a\\u0000b\"", "\"!!a\\u0000b\""},
    {"[[\"!\"],{\"a\":[\"#\"]}]", "[[\"!!\"],{\"a\":[\"!#\"]}]"},
    {"{\"!key\":{\"#tag\":1},\"plain\":2}", "{\"!!key\":{\"!#tag\":1},\"plain\":2}"},
    {"{\"@bigint\":\"123456789012345678901234567890\"}", "\"+123456789012345678901234567890\""},
    {"{\"@bigint\":\"-7\"}", "\"-7\""},
    {"{\"@value\":\"undefined\"}", "\"#undefined\""},
    {"{\"@value\":\"NaN\"}", "\"#NaN\""},
    {"{\"@value\":\"Infinity\"}", "\"#Infinity\""},
    {"{\"@value\":\"-Infinity\"}", "\"#-Infinity\""},
    {"{\"@value\":\"-0\"}", "-0.0"},
    {"{\"@symbol\":\"@@asyncIterator\"}", "\"%@@asyncIterator\""},
    {"{\"@symbol\":\"\"}", "\"%\""},
    {"{\"#tag\":\"copySet\",\"payload\":[{\"@bigint\":\"1\"}]}",
     "{\"#tag\":\"copySet\",\"payload\":[\"+1\"]}"},
    {"{\"#tag\":\"#odd\",\"payload\":\"!\"}", "{\"#tag\":\"!#odd\",\"payload\":\"!!\"}"},
    {"{\"#error\":\"-1 is odd\",\"errorId\":\"error:liveSlots:v1#70001\",\"name\":\"TypeError\"}",
     "{\"#error\":\"!-1 is odd\",\"errorId\":\"error:liveSlots:v1#70001\",\"name\":\"TypeError\"}"},
    /* Records that only look like something else. */
    {"{\"@record\":{\"@bigint\":\"1\"}}", "{\"@bigint\":\"1\"}"},
    {"{\"@record\":{\"@record\":{\"a\":\"!\"}}}", "{\"@record\":{\"a\":\"!!\"}}"},
    {"{\"@record\":{\"#tag\":\"a\",\"payload\":1}}", "{\"!#tag\":\"a\",\"payload\":1}"},
    {"{\"@record\":{\"#error\":\"a\",\"name\":\"b\",\"c\":1}}",
     "{\"!#error\":\"a\",\"name\":\"b\",\"c\":1}"},
    {"{\"@record\":{\"@ref\":\"ko1\",\"iface\":\"b\"}}", "{\"@ref\":\"ko1\",\"iface\":\"b\"}"},
    {"{\"@vat\":1}", "{\"@vat\":1}"},
    {"{\"@vat\":\"a\",\"b\":2}", "{\"@vat\":\"a\",\"b\":2}"},
};

static void encoded_values_decode_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        becomes(encode, pairs[i][0], pairs[i][1]);
        becomes(decode, pairs[i][1], pairs[i][0]);
    }
}

static void references_are_those_of_the_slots(void **state)
{
    (void)state;
    becomes(decode, "[\"$0.Alleged: purse\",\"$0\",\"&1\"]",
            "[{\"@ref\":\"ko20\",\"iface\":\"Alleged: "
            "purse\"},{\"@ref\":\"ko20\"},{\"@ref\":\"kp40\"}]");
    becomes(decode, "[\"$2\",\"$\",\"$0x\",\"#later\"]", "[\"$2\",\"$\",\"$0x\",\"#later\"]");
}

static int find_by_name(void *context, const char *kind, const char *name, char **reference,
                        struct error *error)
{
    (void)context;
    (void)kind;
    (void)error;
    *reference = strdup(name);
    return *reference == NULL ? -1 : 0;
}

/* Encodes `text` for bootstrap() or another method, and compares body and slots. */
static void encodes(const char *text, bool bootstraps, const char *body, const char *references)
{
    const struct smallcaps_names names = {.find = find_by_name, .bootstraps = bootstraps};
    json_t *value = load(text), *expected = load(body), *expected_slots = load(references);
    json_t *slots = json_array();
    struct error error;
    json_t *encoded = smallcaps_encode(value, &names, slots, &error);

    assert_true(json_equal(encoded, expected));
    assert_true(json_equal(slots, expected_slots));
    json_decref(value);
    json_decref(expected);
    json_decref(expected_slots);
    json_decref(slots);
    json_decref(encoded);
}

static void repeated_reference_is_one_slot(void **state)
{
    (void)state;
    encodes("[{\"@ref\":\"ko20\",\"iface\":\"Alleged: a\"},{\"@result\":\"kp40\"},"
            "{\"@ref\":\"ko20\",\"iface\":\"Alleged: a\"},{\"@vat\":\"ko20\"},"
            "{\"again\":{\"@result\":\"kp40\"}}]",
            false, "[\"$0.Alleged: a\",\"&1\",\"$0\",\"$0\",{\"again\":\"&1\"}]",
            "[\"ko20\",\"kp40\"]");
}

static void interfaces_are_given_or_those_of_bootstrap(void **state)
{
    static const char bare[] = "[{\"@vat\":\"ko20\"},{\"@device\":\"kd30\"},{\"@ref\":\"ko21\"}]";
    static const char slots[] = "[\"ko20\",\"kd30\",\"ko21\"]";

    (void)state;
    encodes(bare, false, "[\"$0\",\"$1\",\"$2\"]", slots);
    encodes(bare, true, "[\"$0.Alleged: root\",\"$1.Alleged: device\",\"$2\"]", slots);
    encodes("[{\"@vat\":\"ko20\",\"iface\":\"x\"},{\"@device\":\"kd30\",\"iface\":\"y\"},"
            "{\"iface\":\"z\",\"@result\":\"kp40\"}]",
            true, "[\"$0.x\",\"$1.y\",\"&2.z\"]", "[\"ko20\",\"kd30\",\"kp40\"]");
    encodes("[{\"@vat\":\"ko20\",\"iface\":1},{\"@vats\":\"ko20\",\"iface\":\"x\"}]", true,
            "[{\"@vat\":\"ko20\",\"iface\":1},{\"@vats\":\"ko20\",\"iface\":\"x\"}]", "[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoded_values_decode_back),
        cmocka_unit_test(references_are_those_of_the_slots),
        cmocka_unit_test(repeated_reference_is_one_slot),
        cmocka_unit_test(interfaces_are_given_or_those_of_bootstrap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
