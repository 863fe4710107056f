/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "worker/warm/warm_store.h"

static void expect(struct warm_store *store, const char *request, const char *expected)
{
    const struct iovec found =
        warm_store_answer(store, (struct iovec){(char *)request, strlen(request)});

    assert_int_equal(found.iov_len, strlen(expected));
    assert_memory_equal(found.iov_base, expected, found.iov_len);
}

static void what_was_set_is_found(void **state)
{
    struct warm_store store = {0};

    (void)state;
    expect(&store, "[\"syscall\",[\"vatstoreGet\",\"b\"]]", "[\"ok\",null]");
    expect(&store, "[\"syscall\",[\"vatstoreSet\",\"b\",\"{\\\"x\\\":1}\"]]", "[\"ok\",null]");
    expect(&store, "[\"syscall\",[\"vatstoreSet\",\"a\",\"\"]]", "[\"ok\",null]");
    expect(&store, "[\"syscall\",[\"vatstoreGet\",\"b\"]]", "[\"ok\",\"{\\\"x\\\":1}\"]");
    expect(&store, "[\"syscall\",[\"vatstoreGet\",\"a\"]]", "[\"ok\",\"\"]");
    expect(&store, "[\"syscall\",[\"vatstoreSet\",\"b\",\"2\"]]", "[\"ok\",null]");
    expect(&store, "[\"syscall\",[\"vatstoreGet\",\"b\"]]", "[\"ok\",\"2\"]");
    warm_store_free(&store);
}

static void keys_come_in_their_order(void **state)
{
    struct warm_store store = {0};

    (void)state;
    expect(&store, "[\"syscall\",[\"vatstoreSet\",\"c\",\"3\"]]", "[\"ok\",null]");
    expect(&store, "[\"syscall\",[\"vatstoreSet\",\"a\",\"1\"]]", "[\"ok\",null]");
    expect(&store, "[\"syscall\",[\"vatstoreSet\",\"b\",\"2\"]]", "[\"ok\",null]");
    expect(&store, "[\"syscall\",[\"vatstoreGetNextKey\",\"\"]]", "[\"ok\",\"a\"]");
    expect(&store, "[\"syscall\",[\"vatstoreGetNextKey\",\"a\"]]", "[\"ok\",\"b\"]");
    expect(&store, "[\"syscall\",[\"vatstoreDelete\",\"b\"]]", "[\"ok\",null]");
    expect(&store, "[\"syscall\",[\"vatstoreDelete\",\"b\"]]", "[\"ok\",null]");
    expect(&store, "[\"syscall\",[\"vatstoreGetNextKey\",\"a\"]]", "[\"ok\",\"c\"]");
    expect(&store, "[\"syscall\",[\"vatstoreGetNextKey\",\"c\"]]", "[\"ok\",null]");
    warm_store_free(&store);
}

static void anything_else_is_answered_by_null(void **state)
{
    static const char *const requests[] = {
        "",
        "[]",
        "[\"syscall\"]",
        "[\"syscall\",[\"vatstoreGet\"]]",
        "[\"syscall\",[\"vatstoreSet\",\"a\"]]",
        "[\"syscall\",[\"vatstoreSet\",\"a\",\"b\\\"",
        "[\"syscall\",[\"vatstoreSet\",\"a\",\"b\\",
        "[\"syscall\",[\"resolve\",[[\"p-60\",false,{\"body\":\"#5\",\"slots\":[]}]]]]",
        "[\"sourcedConsole\",\"vatstoreSet\",\"a\",\"1\"]",
        "[\"syscall\",[\"vatstoreGet\",\"a\"]]",
    };
    struct warm_store store = {0};

    (void)state;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        expect(&store, requests[i], "[\"ok\",null]");
    warm_store_free(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_set_is_found),
        cmocka_unit_test(keys_come_in_their_order),
        cmocka_unit_test(anything_else_is_answered_by_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
