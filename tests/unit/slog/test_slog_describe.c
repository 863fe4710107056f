/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "slog/model/describe.h"

typedef void describe(struct scan_span object, struct buf *text);

static void expect(describe *function, const char *json, const char *expected)
{
    size_t length = strlen(json);
    char *padded = calloc(1, length + SCAN_PADDING);
    struct buf text = {0};

    assert_non_null(padded);
    memcpy(padded, json, length + 1);
    function((struct scan_span){padded, length}, &text);
    assert_string_equal(buf_string(&text), expected);
    buf_free(&text);
    free(padded);
}

static void describes_messages_in_both_encodings(void **state)
{
    (void)state;
    expect(describe_delivery,
           "[\"message\",\"o+0\",{\"methargs\":{\"body\":\"#[\\\"list\\\",[]]\",\"slots\":[]},"
           "\"result\":\"p-61\"}]",
           "(o+0).list -> p-61");
    expect(describe_delivery,
           "[\"message\",\"o+0\",{\"methargs\":{\"body\":\"[\\\"list\\\",[]]\"},\"result\":null}]",
           "(o+0).list -> null");
    expect(
        describe_delivery,
        "[\"message\",\"o+0\",{\"method\":\"list\",\"args\":{\"body\":\"[]\"},\"result\":\"p1\"}]",
        "(o+0).list -> p1");
}

static void describes_methods_that_are_no_names(void **state)
{
    (void)state;
    expect(describe_method, "{\"methargs\":{\"body\":\"#[\\\"#undefined\\\",[]]\"}}", "");
    expect(describe_method,
           "{\"methargs\":{\"body\":\"[{\\\"@qclass\\\":\\\"undefined\\\"},[]]\"}}", "");
    expect(describe_method, "{\"methargs\":{\"body\":\"#[\\\"%@@asyncIterator\\\",[]]\"}}",
           "%@@asyncIterator");
    expect(describe_method,
           "{\"methargs\":{\"body\":\"[{\\\"@qclass\\\":\\\"symbol\\\",\\\"name\\\":\\\"@@x\\\"},[]"
           "]\"}}",
           "@@x");
    expect(describe_method, "{\"methargs\":{\"body\":\"#[\\\"!+x\\\",[]]\"}}", "+x");
    expect(describe_method, "{\"methargs\":{\"body\":\"#[\\\"\\u0000\\ud800\\\\u001b\\\",[]]\"}}",
           "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    expect(describe_method, "{\"methargs\":{\"body\":\"nonsense\"}}", "?");
    expect(describe_method, "{\"methargs\":{\"body\":7}}", "?");
    expect(describe_method, "{}", "?");
    expect(describe_delivery,
           "[\"message\",\"o+0\",{\"methargs\":{\"body\":\"#[\\\"#undefined\\\",[]]\"},\"result\":"
           "\"p1\"}]",
           "(o+0)() -> p1");
}

static void describes_deliveries(void **state)
{
    (void)state;
    expect(describe_delivery, "[\"notify\",[[\"p+5\",false,{}],[\"p+6\",true,{}]]]",
           "notify p+5,!p+6");
    expect(describe_delivery, "[\"bringOutYourDead\"]", "bringOutYourDead");
    expect(describe_delivery, "[\"dropExports\",[\"o+10\"]]", "dropExports");
    expect(describe_delivery, "[\"startVat\",{\"body\":\"#{}\",\"slots\":[]}]", "startVat");
    expect(describe_delivery, "[\"message\"]", "(?).? -> ?");
    expect(describe_delivery, "[]", "");
    expect(describe_delivery, "null", "");
}

static void describes_syscalls(void **state)
{
    (void)state;
    expect(describe_syscall,
           "[\"send\",\"o-52\",{\"methargs\":{\"body\":\"#[\\\"get\\\",[]]\"},\"result\":\"p+5\"}]",
           "(o-52).get -> p+5");
    expect(describe_syscall, "[\"callNow\",\"d-70\",\"subscribe\",{\"body\":\"#[]\"}]",
           "D(d-70).subscribe");
    expect(describe_syscall, "[\"subscribe\",\"p+5\"]", "subscribe(p+5)");
    expect(describe_syscall, "[\"resolve\",[[\"p-60\",false,{}],[\"p-61\",true,{}]]]",
           "resolve p-60,!p-61");
    expect(describe_syscall, "[\"dropImports\",[\"o-54\",\"o-55\"]]", "dropImports(o-54,o-55)");
    expect(describe_syscall, "[\"retireImports\",[]]", "retireImports()");
    expect(describe_syscall, "[\"vatstoreGet\",\"key\"]", "vatstoreGet");
    expect(describe_syscall, "[\"exit\",false,{}]", "exit");
}

static void append_words(struct scan_span object, struct buf *text)
{
    describe_string(describe_words(object), text);
}

static void gives_what_is_said(void **state)
{
    (void)state;
    expect(append_words,
           "[\"message\",\"o+0\",{\"methargs\":{\"body\":\"#[\\\"get\\\",[1]]\",\"slots\":[]}}]",
           "#[\"get\",[1]]");
    expect(append_words, "[\"vatstoreSet\",\"key\",\"value\"]", "\"key\",\"value\"");
    expect(append_words, "[\"send\",\"o-5\",{\"method\":\"get\"}]", "\"o-5\",{\"method\":\"get\"}");
    expect(append_words, "[\"bringOutYourDead\"]", "");
    expect(append_words, "[\"ok\", \"a\"]", "\"a\"");
    expect(append_words, "{}", "");
}

static void lets_no_control_characters_through(void **state)
{
    (void)state;
    expect(describe_delivery, "[\"a\x1b\x7f\xc2\x9b\xff\xed\xa0\x80z\"]",
           "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
           "\xef\xbf\xbdz");
    expect(describe_delivery, "[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"]",
           "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describes_messages_in_both_encodings),
        cmocka_unit_test(describes_methods_that_are_no_names),
        cmocka_unit_test(describes_deliveries),
        cmocka_unit_test(describes_syscalls),
        cmocka_unit_test(gives_what_is_said),
        cmocka_unit_test(lets_no_control_characters_through),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
