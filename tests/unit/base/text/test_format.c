/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/format.h"

enum { ROOM = 64 };

/* For any size, writes the same bytes and returns the same length as snprintf(3). */
#define assert_same(...)                                                                           \
    for (size_t size = 0; size <= ROOM; size++) {                                                  \
        char ours[ROOM + 1], theirs[ROOM + 1];                                                     \
                                                                                                   \
        memset(ours, '#', sizeof ours);                                                            \
        memset(theirs, '#', sizeof theirs);                                                        \
        assert_int_equal(format_text(ours, size, __VA_ARGS__),                                     \
                         snprintf(theirs, size, __VA_ARGS__));                                     \
        assert_memory_equal(ours, theirs, sizeof ours);                                            \
    }

static void test_what_is_written_here(void **state)
{
    (void)state;
    assert_same("%s", "");
    assert_same("nothing");
    assert_same("v%" PRId64 ".%s", INT64_C(7), "options");
    assert_same("%s.%" PRIu64, "runQueue", UINT64_MAX);
    assert_same("[%" PRId64 ",%" PRId64 "]", INT64_MIN, INT64_MAX);
    assert_same("%d %d %u", INT_MIN, INT_MAX, UINT_MAX);
    assert_same("%lld %llu %zu", LLONG_MIN, ULLONG_MAX, SIZE_MAX);
    assert_same("%c%c 100%%", 'a', 'z');
    assert_same("%d%s%d", 0, "-", -1);
}

static void test_a_string_with_a_limit(void **state)
{
    const char unended[3] = {'a', 'b', 'c'};
    const char *volatile none = NULL;

    (void)state;
    assert_same("<%.*s>", 0, none);
    assert_same("<%.*s>", 2, "abc");
    assert_same("<%.*s>", 5, "abc");
    assert_same("<%.*s>", 0, "abc");
    assert_same("<%.*s>", -1, "abc");
    assert_same("<%.*s>", 3, unended);
}

static void test_what_is_handed_on(void **state)
{
    (void)state;
    assert_same("%s %5d|", "before", 42);
    assert_same("%-8s|%08.3f|%x", "left", 1.5, 0xabcdU);
    assert_same("%s%.3s|", "ab", "cdefg");
    assert_same("%lx %c", 255UL, 'q');
    assert_same("%.2f %s", 0.125, "behind");
}

static void test_as_snprintf(void **state)
{
    char text[8];

    (void)state;
    assert_int_equal(format_text(text, sizeof text, "%s-%d", "abcdef", 123), 10);
    assert_string_equal(text, "abcdef-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_here),
        cmocka_unit_test(test_a_string_with_a_limit),
        cmocka_unit_test(test_what_is_handed_on),
        cmocka_unit_test(test_as_snprintf),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
