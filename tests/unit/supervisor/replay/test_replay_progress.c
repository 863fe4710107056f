/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "supervisor/replay/replay_progress.h"

#define TIME ",\"time\":1.5,\"monotime\":1}\n"
#define DELIVERY(vat, number)                                                                      \
    "{\"type\":\"deliver\",\"crankNum\":" number ",\"vatID\":\"" vat "\",\"deliveryNum\":" number  \
    ",\"replay\":false,\"kd\":[\"bringOutYourDead\"],\"vd\":[\"bringOutYourDead\"]" TIME           \
    "{\"type\":\"deliver-result\",\"crankNum\":" number ",\"vatID\":\"" vat                        \
    "\",\"deliveryNum\":" number ",\"replay\":false,\"dr\":[\"ok\",null,{\"compute\":1}]" TIME
#define CREATE(vat, name)                                                                          \
    "{\"type\":\"create-vat\",\"vatID\":\"" vat "\",\"name\":\"" name                              \
    "\",\"managerType\":\"xsnap\"" TIME

static char path[] = "/tmp/test_replay_progress.XXXXXX";

static int64_t count(struct source_selection selection, bool ended)
{
    char *paths[] = {path};
    struct replay_options options = {.sources = paths, .source_count = 1, .selection = selection};
    atomic_bool ends = ended;

    return replay_progress_count(&options, &ends);
}

static void deliveries_of_selected_vats_are_counted(void **state)
{
    char *bank[] = {"bank"}, *id[] = {"v2"}, *none[] = {"v9"};
    struct source_selection all = {.span = -1, .to = INT64_MAX};

    (void)state;
    assert_int_equal(count(all, false), 5);
    assert_int_equal(count((struct source_selection){.span = -1, .to = 1}, false), 4);
    assert_int_equal(count((struct source_selection){bank, 1, .span = -1, .to = INT64_MAX}, false),
                     3);
    assert_int_equal(count((struct source_selection){id, 1, .span = -1, .to = INT64_MAX}, false),
                     2);
    assert_int_equal(count((struct source_selection){none, 1, .span = -1, .to = INT64_MAX}, false),
                     0);
}

static void counting_stops(void **state)
{
    (void)state;
    assert_int_equal(count((struct source_selection){.span = -1, .to = INT64_MAX}, true), -1);
}

static void assert_words(int64_t passed, int64_t total, size_t vats, double seconds,
                         const char *words)
{
    struct buf text = {0};

    replay_progress_describe(&text, passed, total, vats, seconds);
    assert_string_equal(buf_string(&text), words);
    buf_free(&text);
}

static void the_time_left_follows_from_the_total(void **state)
{
    (void)state;
    assert_words(250, 1000, 2, 10, "250 of 1000 deliveries, 2 vats, 10 s; about 30 s left");
    assert_words(1, 1, 1, 2, "1 of 1 delivery, 1 vat, 2 s; about 0 s left");
    assert_words(250, 0, 2, 10, "250 deliveries, 2 vats, 10 s");
    assert_words(250, 3, 2, 10, "250 deliveries, 2 vats, 10 s");
}

static int make_file(void **state)
{
    int descriptor = mkstemp(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");

    (void)state;
    if (file == NULL)
        return -1;
    fputs(CREATE("v1", "bank") CREATE("v2", "mint") DELIVERY("v1", "0") DELIVERY("v2", "0")
              DELIVERY("v1", "1") DELIVERY("v2", "1") DELIVERY("v1", "2"),
          file);
    return fclose(file);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deliveries_of_selected_vats_are_counted),
        cmocka_unit_test(counting_stops),
        cmocka_unit_test(the_time_left_follows_from_the_total),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
