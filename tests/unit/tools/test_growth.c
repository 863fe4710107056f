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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_are_of_what_was_said),
        cmocka_unit_test(test_a_collection_is_counted_with_what_it_releases),
        cmocka_unit_test(test_points_are_thinned_out),
        cmocka_unit_test(test_a_snapshot_belongs_to_the_vat_of_its_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
