/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/option/option.h"

static const char *const names[] = {"run", "replay", "status", "count", "counter", "json"};

static const char *hint_of(const char *word)
{
    static struct similar similar;

    similar = (struct similar){.word = word};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        similar_try(&similar, names[i]);
    return similar_hint(&similar, "--");
}

static void test_close_names(void **state)
{
    static const struct {
        const char *word, *hint;
    } close[] = {
        {"rnu", "; did you mean --run?"},         {"stauts", "; did you mean --status?"},
        {"rep", "; did you mean --replay?"},      {"coutn", "; did you mean --count?"},
        {"counetr", "; did you mean --counter?"}, {"jsn", "; did you mean --json?"},
        {"reply", "; did you mean --replay?"},    {"jason", "; did you mean --json?"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof close / sizeof *close; i++)
        assert_string_equal(hint_of(close[i].word), close[i].hint);
}

static void test_names_that_are_not_close(void **state)
{
    char long_word[200];

    (void)state;
    memset(long_word, 'r', sizeof long_word);
    long_word[sizeof long_word - 1] = '\0';
    assert_string_equal(hint_of(""), "");
    assert_string_equal(hint_of("bogus"), "");
    assert_string_equal(hint_of("verify"), "");
    assert_string_equal(hint_of(long_word), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_close_names),
        cmocka_unit_test(test_names_that_are_not_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
