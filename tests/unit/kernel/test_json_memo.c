/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/records/keys.h"

static struct buf text_of(const char *text)
{
    struct buf buf = {0};

    buf_append_string(&buf, text);
    return buf;
}

static void a_value_is_given_for_its_text_alone(void **state)
{
    struct json_memo memo = {0};
    struct buf noted = text_of("[1]"), other = text_of("[2]");
    json_t *value = json_pack("[i]", 1), *found;

    (void)state;
    assert_null(json_memo_find(&memo, "v1.options", &noted));
    json_memo_note(&memo, "v1.options", &noted, value);
    found = json_memo_find(&memo, "v1.options", &noted);
    assert_ptr_equal(found, value);
    assert_null(json_memo_find(&memo, "v1.options", &other));
    json_decref(found);
    json_decref(value);
    buf_free(&noted);
    buf_free(&other);
    json_memo_free(&memo);
}

/* The taker may change the value: it must be the only reference. */
static void a_value_is_taken_once_and_only_if_nobody_has_it(void **state)
{
    struct json_memo memo = {0};
    struct buf text = text_of("{}");
    json_t *value = json_object(), *taken;

    (void)state;
    json_memo_note(&memo, "runQueue.1", &text, value);
    assert_null(json_memo_take(&memo, "runQueue.1", &text));
    json_decref(value);
    taken = json_memo_take(&memo, "runQueue.1", &text);
    assert_ptr_equal(taken, value);
    assert_null(json_memo_take(&memo, "runQueue.1", &text));
    json_decref(taken);
    buf_free(&text);
    json_memo_free(&memo);
}

static void later_notes_replace_earlier_ones(void **state)
{
    struct json_memo memo = {0};
    struct buf first = text_of("1"), second = text_of("2");
    json_t *one = json_integer(1), *two = json_integer(2), *found;

    (void)state;
    json_memo_note(&memo, "key", &first, one);
    json_memo_note(&memo, "key", &second, two);
    assert_null(json_memo_find(&memo, "key", &first));
    found = json_memo_find(&memo, "key", &second);
    assert_ptr_equal(found, two);
    json_decref(found);
    json_decref(one);
    json_decref(two);
    buf_free(&first);
    buf_free(&second);
    json_memo_free(&memo);
}

static void a_long_text_is_not_kept(void **state)
{
    struct json_memo memo = {0};
    struct buf text = {0};
    json_t *value = json_integer(1);

    (void)state;
    for (int i = 0; i < 5000; i++)
        buf_append_byte(&text, '1');
    json_memo_note(&memo, "key", &text, value);
    assert_null(json_memo_find(&memo, "key", &text));
    json_decref(value);
    buf_free(&text);
    json_memo_free(&memo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_given_for_its_text_alone),
        cmocka_unit_test(a_value_is_taken_once_and_only_if_nobody_has_it),
        cmocka_unit_test(later_notes_replace_earlier_ones),
        cmocka_unit_test(a_long_text_is_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
