/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/runtime/vat_runtime.h"

static int set(struct vat_runtimes *runtimes, const char *lockdown, const char *supervisor,
               struct error *error)
{
    struct buf first = {0}, second = {0};
    int result;

    buf_append_string(&first, lockdown);
    buf_append_string(&second, supervisor);
    result = vat_runtimes_set(runtimes, "it", &first, &second, error);
    buf_free(&first);
    buf_free(&second);
    return result;
}

static void assert_program(struct buf *program, const char *expected)
{
    assert_string_equal(buf_string(program), expected);
}

static void test_sources_become_calls(void **state)
{
    struct vat_runtimes runtimes = {0};
    struct error error;

    (void)state;
    assert_int_equal(set(&runtimes,
                         "{\"moduleFormat\":\"nestedEvaluate\",\"source\":"
                         "\"function () {\\n\\t\\\"\\\\\\/\\u00e9\\ud83d\\ude00\\\"}\"}\n",
                         "{\"source\":\"f\"}", &error),
                     0);
    assert_program(&runtimes.lockdown, "(function () {\n\t\"\\/\xc3\xa9\xf0\x9f\x98\x80\"}\n)()");
    assert_program(&runtimes.supervisor, "(f\n)()");

    assert_int_equal(set(&runtimes, "{\"source\":\"\"}", "{\"source\":\"g\"}", &error), 0);
    assert_program(&runtimes.lockdown, "(\n)()");
    assert_program(&runtimes.supervisor, "(g\n)()");
    vat_runtimes_free(&runtimes);
}

static void test_other_texts_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "function () {}",
        "[\"source\"]",
        "{}",
        "{\"source\":1}",
        "{\"source\":[\"f\"]}",
        "{\"source\":\"f\"",
        "{\"source\":\"f",
        "{\"source\":\"f\",",
        "{\"source\":\"f\"} {}",
        "{\"endoZipBase64\":\"UEs=\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct vat_runtimes runtimes = {0};
        struct error error;

        assert_int_equal(set(&runtimes, texts[i], "{\"source\":\"f\"}", &error), -1);
        assert_int_equal(error.kind, ERROR_INPUT);
        assert_string_equal(error.text, "it holds no bundle of {moduleFormat, source}");
        assert_int_equal(set(&runtimes, "{\"source\":\"f\"}", texts[i], &error), -1);
        assert_int_equal(error.kind, ERROR_INPUT);
        vat_runtimes_free(&runtimes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sources_become_calls),
        cmocka_unit_test(test_other_texts_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
