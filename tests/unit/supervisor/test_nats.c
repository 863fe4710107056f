/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/nats.h"

static void servers_and_stream_come_apart(void **state)
{
    struct nats_address address;
    struct error error;

    (void)state;
    assert_int_equal(nats_address_parse(&address, "nats://host/ORDERS", &error), 0);
    assert_string_equal(address.url, "nats://host");
    assert_string_equal(address.stream, "ORDERS");
    assert_int_equal(
        nats_address_parse(&address, "nats://me:a/b@one:4222,nats://two:4222/S-1", &error), 0);
    assert_string_equal(address.url, "nats://me:a/b@one:4222,nats://two:4222");
    assert_string_equal(address.stream, "S-1");
}

static void bad_addresses_are_refused_without_their_text(void **state)
{
    static const char *const bad[] = {
        "",           "ORDERS",         "nats://",           "nats://host",   "nats:///ORDERS",
        "host/ORDER", "nats://h/a.b",   "nats://h/*",        "nats://h/a b",  "nats://h/",
        "://h/S",     "nats://me:pw@h", "nats://h,nats://i", "nats://h:4222",
    };
    char longer[NATS_URL_SIZE + 32] = "nats://";
    struct nats_address address;
    struct error error;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(nats_address_parse(&address, bad[i], &error), -1);
        assert_int_equal(error.kind, ERROR_USAGE);
        assert_null(strstr(error.text, "pw"));
    }
    memset(longer + strlen("nats://"), 'h', NATS_URL_SIZE);
    memcpy(longer + strlen(longer), "/S", sizeof "/S");
    assert_int_equal(nats_address_parse(&address, longer, &error), -1);
    memset(longer, 'h', sizeof longer);
    memcpy(longer, "nats://h/", strlen("nats://h/"));
    longer[strlen("nats://h/") + NATS_STREAM_SIZE] = '\0';
    assert_int_equal(nats_address_parse(&address, longer, &error), -1);
}

static void times_are_read_to_the_nanosecond(void **state)
{
    static const struct {
        const char *text;
        int64_t nanoseconds;
    } times[] = {{"1970-01-01T00:00:00Z", 0},
                 {"2026-11-22T23:11:12Z", 1795389072000000000},
                 {"2026-11-22T23:11:12.5Z", 1795389072500000000},
                 {"2026-11-22T23:11:12.000000001Z", 1795389072000000001}};
    int64_t found;

    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_true(nats_time_read(times[i].text, &found));
        assert_int_equal(found, times[i].nanoseconds);
    }
}

static void rejects_invalid_times(void **state)
{
    static const char *const texts[] = {"",
                                        "now",
                                        "2026-11-22",
                                        "2026-11-22T23:11:12",
                                        "2026-11-22T23:11:12.Z5",
                                        "2026-11-22T23:11:12.0000000001Z",
                                        "2026-11-22T23:11:12+01:00",
                                        "1969-12-31T23:59:59Z",
                                        "9999-01-01T00:00:00Z"};
    int64_t found;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(nats_time_read(texts[i], &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_and_stream_come_apart),
        cmocka_unit_test(bad_addresses_are_refused_without_their_text),
        cmocka_unit_test(times_are_read_to_the_nanosecond),
        cmocka_unit_test(rejects_invalid_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
