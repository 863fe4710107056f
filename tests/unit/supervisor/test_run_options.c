/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/run/run_options.h"

/* The timeout with one option, and with --delivery-timeout where `secs` is not NULL. */
static uint64_t timeout_with(char *counter, char *secs)
{
    char run[] = "run", vat[] = "--vat=v=v.js", name[] = "--counter",
         timeout[] = "--delivery-timeout", lines[] = "-";
    char *argv[] = {run, vat, name, counter, lines, NULL, NULL, NULL};
    struct run_options options;
    struct error error;
    uint64_t timeout_ms;
    int argc = 5;

    if (secs != NULL) {
        argv[argc++] = timeout;
        argv[argc++] = secs;
    }
    assert_int_equal(run_options_parse(&options, argc, argv, &error), OPTION_TAKEN);
    timeout_ms = options.timeout_ms;
    run_options_free(&options);
    return timeout_ms;
}

static void timeout_is_short_where_nothing_is_counted(void **state)
{
    char none[] = "none", qemu[] = "qemu", compiled[] = "compiled", secs[] = "600",
         no_limit[] = "0";

    (void)state;
    assert_int_equal(timeout_with(none, NULL), 60000);
    assert_int_equal(timeout_with(qemu, NULL), 600000);
    assert_int_equal(timeout_with(compiled, NULL), 600000);
    assert_int_equal(timeout_with(none, secs), 600000);
    assert_int_equal(timeout_with(none, no_limit), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeout_is_short_where_nothing_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
