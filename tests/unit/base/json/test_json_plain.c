/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json/json_value.h"

static const size_t flag_sets[] = {0, JSON_DECODE_ANY, JSON_ALLOW_NUL,
                                   JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY};

/* Returns true if the text is plain with these flags; its value must then equal jansson's. */
static bool is_plain(const char *text, size_t length, size_t flags)
{
    json_t *value = json_plain_read(text, length, flags), *expected;

    if (value == NULL)
        return false;
    expected = json_loadb(text, length, flags, NULL);
    if (expected == NULL || !json_equal(value, expected))
        fail_msg("%.*s is not read as jansson reads it", (int)length, text);
    json_decref(expected);
    json_decref(value);
    return true;
}

static const char *const plain_texts[] = {
    "[]",
    " { } ",
    "[\"syscall\",[\"resolve\",[[\"p-60\",false,{\"body\":\"#{\\\"a\\\":[1]}\",\"slots\":[]}]]]]",
    "{\"vat\":\"it\",\"method\":\"add\",\"args\":[\"n0\",0,-17,true,null,123456789012345678]}",
    "\t[\n\"\\\"\\\\\\/\\b\\f\\n\\r\\t\" ,\r\"\\\\\"]\n",
    "{\"a\":{\"b\":{\"c\":[[],{},\"\"]}},\"\":-0}",
};

static void plain_texts_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof plain_texts / sizeof *plain_texts; i++)
        for (size_t set = 0; set < sizeof flag_sets / sizeof *flag_sets; set++)
            assert_true(is_plain(plain_texts[i], strlen(plain_texts[i]), flag_sets[set]));
    assert_true(is_plain("\"x\"", 3, JSON_DECODE_ANY));
    assert_false(is_plain("\"x\"", 3, 0));
}

static void other_texts_are_left_to_jansson(void **state)
{
    static const char *const others[] = {
        "",
        " ",
        "[",
        "]",
        "[1",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "[1]x",
        "[01]",
        "[-]",
        "[+1]",
        "[1.5]",
        "[1e3]",
        "[1234567890123456789]",
        "[truex]",
        "[tru]",
        "[nul",
        "[\"\x01\"]",
        "[\"\xc3\xa9\"]",
        "[\"\\u0041\"]",
        "[\"\\x\"]",
        "[\"a\\",
        "[\"a\\\"]",
        "[\"a]",
        "{\"\\n\":1}",
        "[1 2]",
        "[\"a\"\"b\"]",
        "{1:2}",
        "[\f1]",
        "[--1]",
        "[\x7f]",
    };
    char deep[2 * 80 + 1];

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(is_plain(others[i], strlen(others[i]), JSON_DECODE_ANY));
    assert_false(is_plain("[\"\\\0\"]", 6, 0));
    assert_false(is_plain("[]", 2, JSON_DECODE_INT_AS_REAL));
    memset(deep, '[', 80);
    memset(deep + 80, ']', 80);
    assert_false(is_plain(deep, 160, 0));
    assert_true(is_plain(deep + 20, 120, 0));
}

static void a_key_that_is_there_twice_is_as_with_jansson(void **state)
{
    static const char twice[] = "{\"a\":1,\"b\":2,\"a\":3}";

    (void)state;
    assert_true(is_plain(twice, strlen(twice), 0));
    assert_false(is_plain(twice, strlen(twice), JSON_REJECT_DUPLICATES));
}

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(*seed >> 33) % below;
}

/* Each has a few bytes changed, for others that JSON has. */
static void reads_the_same_as_jansson(void **state)
{
    static const char bytes[] = "[]{}\",:\\ 0-9truefalsn\x80\n\x01"
                                "e.u";
    uint64_t seed = 1;
    unsigned plain = 0;
    char text[128];

    (void)state;
    for (unsigned round = 0; round < 200000; round++) {
        const char *from = plain_texts[draw(&seed, sizeof plain_texts / sizeof *plain_texts)];
        const size_t length = strlen(from);

        memcpy(text, from, length + 1);
        for (uint32_t changes = 1 + draw(&seed, 3); changes > 0; changes--)
            text[draw(&seed, (uint32_t)length)] = bytes[draw(&seed, sizeof bytes)];
        plain += is_plain(text, length, flag_sets[draw(&seed, 4)]);
    }
    assert_true(plain > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_texts_are_read),
        cmocka_unit_test(other_texts_are_left_to_jansson),
        cmocka_unit_test(a_key_that_is_there_twice_is_as_with_jansson),
        cmocka_unit_test(reads_the_same_as_jansson),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
