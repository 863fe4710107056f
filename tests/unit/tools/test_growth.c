/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/stats/growth.h"

static struct model_delivery delivery_at(int64_t start, double heap)
{
    return (struct model_delivery){.vat_id = "v1",
                                   .vat_name = "bank",
                                   .kind = "message",
                                   .start = start,
                                   .total = 10,
                                   .heap_slots = heap,
                                   .allocated = NAN,
                                   .clist_entries = 3};
}

static void add(struct growth *growth, const struct model_delivery *delivery)
{
    struct error error;

    assert_int_equal(growth_add(growth, delivery, &error), 0);
}

static void test_ranges_are_of_what_was_said(void **state)
{
    const double heaps[] = {100, 400, NAN, 50, 200};
    struct growth growth = {0};

    (void)state;
    for (size_t i = 0; i < sizeof heaps / sizeof heaps[0]; i++) {
        struct model_delivery delivery = delivery_at((int64_t)i + 1, heaps[i]);

        add(&growth, &delivery);
    }
    assert_int_equal(growth.vat_count, 1);
    assert_string_equal(growth_vat_id(&growth, 0), "v1");
    assert_string_equal(growth_vat_name(&growth, 0), "bank");
    const struct growth_range *heap = &growth.vats[0].ranges[GROWTH_HEAP];
    assert_int_equal(heap->count, 4);
    assert_true(heap->first == 100 && heap->last == 200 && heap->least == 50 && heap->most == 400);
    assert_int_equal(growth.vats[0].ranges[GROWTH_ALLOCATED].count, 0);
    growth_free(&growth);
}

static void test_a_collection_is_counted_with_what_it_releases(void **state)
{
    const struct model_event events[] = {
        {.kind = "vatstoreGet"}, {.kind = "dropImports"}, {.kind = "retireImports"}};
    struct model_delivery delivery = delivery_at(5, 10);
    struct growth growth = {0};
    struct buf json = {0};

    (void)state;
    delivery.kind = "bringOutYourDead";
    delivery.events = events;
    delivery.event_count = 3;
    add(&growth, &delivery);
    delivery.replay = true;
    add(&growth, &delivery);
    assert_true(growth.vats[0].ranges[GROWTH_COLLECTIONS].last == 1);
    assert_true(growth.vats[0].ranges[GROWTH_RELEASED].last == 2);
    assert_int_equal(growth.vats[0].collecting, 10);
    growth_append_points(&growth, 0, 1, &json);
    assert_string_equal(buf_string(&json), "[[4,10,null,3,null,1,2]]");
    buf_free(&json);
    growth_free(&growth);
}

/* However many deliveries come, their points stay few, in order, and spread over all of them. */
static void test_points_are_thinned_out(void **state)
{
    enum { MANY = 100 * 1000 + 7 };
    struct growth growth = {0};
    const struct growth_vat *vat;
    struct buf json = {0};

    (void)state;
    for (int64_t i = 0; i < MANY; i++) {
        struct model_delivery delivery = delivery_at(i + 1, (double)i);

        add(&growth, &delivery);
    }
    vat = &growth.vats[0];
    assert_in_range(vat->point_count, GROWTH_POINTS / 2, GROWTH_POINTS);
    for (size_t i = 0; i < vat->point_count; i++)
        assert_true(vat->points[i].values[GROWTH_HEAP] == (double)(i * vat->stride));
    growth_append_points(&growth, 0, 1, &json);
    assert_non_null(buf_string(&json));
    assert_non_null(strstr(json.data, "[100006,100006,null,3,null,0,0]]"));
    buf_free(&json);
    growth_free(&growth);
}

static void test_a_snapshot_belongs_to_the_vat_of_its_number(void **state)
{
    const struct phase_span save = {
        .phase = PHASE_SNAPSHOT_SAVE, .vat_id = "v1", .start = 9, .bytes = 1000};
    struct model_delivery delivery = delivery_at(1, 10);
    struct growth growth = {0};

    (void)state;
    growth_add_phase(&growth, &save);
    assert_int_equal(growth.vat_count, 0);
    add(&growth, &delivery);
    growth_add_phase(&growth, &save);
    assert_true(growth.vats[0].ranges[GROWTH_SNAPSHOT].last == 1000);
    assert_int_equal(growth.vats[0].latest.time, 9);
    growth_free(&growth);
}

static void expect_joined(const struct growth *from, struct growth *into)
{
    struct buf line = {0};

    growth_file_put(from, 0, &line);
    assert_non_null(buf_string(&line));
    buf_reserve(&line, SCAN_PADDING);
    assert_int_equal(growth_file_take(into, (struct scan_span){line.data, line.length}), 0);
    buf_free(&line);
}

/* Reading in two parts finds what one reader finds, down to the points. */
static void test_parts_are_joined(void **state)
{
    enum { DELIVERIES = 20, CUT = 7 };
    struct growth whole = {0}, first = {0}, second = {0}, joined = {0};
    struct buf expected = {0}, found = {0};

    (void)state;
    for (int64_t i = 0; i < DELIVERIES; i++) {
        struct model_delivery delivery = delivery_at(1000 + i, i % 3 != 0 ? 50 - (double)i : NAN);

        delivery.kind = i % 4 == 0 ? "bringOutYourDead" : "message";
        delivery.clist_entries = i + 1;
        add(&whole, &delivery);
        delivery.clist_entries -= i < CUT ? 0 : CUT;
        add(i < CUT ? &first : &second, &delivery);
    }
    assert_int_equal(growth_file_begin(&second), 1000 + CUT);
    expect_joined(&first, &joined);
    expect_joined(&second, &joined);
    growth_file_put(&whole, 0, &expected);
    growth_file_put(&joined, 0, &found);
    assert_string_equal(buf_string(&found), buf_string(&expected));
    buf_free(&expected);
    buf_free(&found);
    growth_free(&whole);
    growth_free(&first);
    growth_free(&second);
    growth_free(&joined);
}

/* However many parts come, the points stay few and even, and the last one is the latest. */
static void test_points_of_many_parts_are_spread_evenly(void **state)
{
    enum { PARTS = 100, EACH = 40 };
    struct growth joined = {0};
    const struct growth_vat *vat;

    (void)state;
    for (int64_t part = 0; part < PARTS; part++) {
        struct growth one = {0};

        for (int64_t i = 0; i < EACH; i++) {
            struct model_delivery delivery = delivery_at(part * EACH + i + 1, 10);

            add(&one, &delivery);
        }
        expect_joined(&one, &joined);
        growth_free(&one);
    }
    vat = &joined.vats[0];
    assert_in_range(vat->point_count, GROWTH_POINTS / 2, GROWTH_POINTS);
    for (size_t i = 1; i < vat->point_count; i++)
        assert_in_range(vat->points[i].time - vat->points[i - 1].time, 1,
                        (int64_t)4 * PARTS * EACH / GROWTH_POINTS);
    assert_int_equal(vat->latest.time, PARTS * EACH);
    assert_true(vat->latest.values[GROWTH_CLIST] == 3 * PARTS);
    growth_free(&joined);
}

static void test_what_is_no_line_is_refused(void **state)
{
    static const char *const lines[] = {
        "{}",
        "{\"vatID\":\"v1\",\"label\":\"\",\"collecting\":0,\"points\":[]}",
        "{\"vatID\":\"v1\",\"label\":\"\",\"collecting\":0,\"points\":[[1,2,3,4,5,6]]}",
        "{\"vatID\":\"v1\",\"label\":\"\",\"collecting\":-1,\"points\":[[1,2,3,4,5,6,7]]}",
        ("{\"vatID\":\"v1\",\"label\":\"\",\"heapSlots\":{\"count\":0},\"collecting\":0,"
         "\"points\":[[1,2,3,4,5,6,7]]}"),
        "{\"vatID\":\"v1\",\"label\":\"\",\"collecting\":0,\"points\":[[1,2,3,4,5,6,true]]}",
    };
    struct growth growth = {0};

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char line[256] = "";

        strncpy(line, lines[i], sizeof line - 1);
        assert_int_equal(growth_file_take(&growth, (struct scan_span){line, strlen(line)}), -1);
    }
    growth_free(&growth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_are_of_what_was_said),
        cmocka_unit_test(test_a_collection_is_counted_with_what_it_releases),
        cmocka_unit_test(test_points_are_thinned_out),
        cmocka_unit_test(test_a_snapshot_belongs_to_the_vat_of_its_number),
        cmocka_unit_test(test_parts_are_joined),
        cmocka_unit_test(test_points_of_many_parts_are_spread_evenly),
        cmocka_unit_test(test_what_is_no_line_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
