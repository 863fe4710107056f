/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tools/stats/pairs.h"
#include "tools/stats/varint.h"

/* Deliveries are stored packed: every member must survive that. */

static void numbers_come_out_as_they_went_in(void **state)
{
    static const int64_t numbers[] = {0,   1,     -1,    63,        64,        -64,       -65,
                                      127, 128,   16383, 16384,     INT32_MAX, INT32_MIN, 1LL << 62,
                                      255, -8192, -8193, INT64_MAX, INT64_MIN};
    struct buf bytes = {0};
    const char *at;

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        varint_append(&bytes, (uint64_t)numbers[i]);
        varint_append_signed(&bytes, numbers[i]);
    }
    at = bytes.data;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        assert_true(varint_read(&at) == (uint64_t)numbers[i]);
        assert_true(varint_read_signed(&at) == numbers[i]);
    }
    assert_ptr_equal(at, bytes.data + bytes.length);
    buf_free(&bytes);
}

static struct model_delivery delivery_of(const char *vat, int64_t number, int64_t total)
{
    return (struct model_delivery){.vat_id = vat,
                                   .description = "(o+0).get -> p-61",
                                   .delivery_num = number,
                                   .total = total,
                                   .pipe = total / 2,
                                   .worker = total - total / 2,
                                   .kernel = 0,
                                   .compute = 3200,
                                   .instructions = NAN,
                                   .syscalls = 3,
                                   .result_digest = 7,
                                   .syscall_digest = 8};
}

static void add(struct pairs *pairs, int side, const struct model_delivery *delivery)
{
    struct error error;

    assert_int_equal(pairs_add(pairs, side, delivery, &error), 0);
}

static void expect_same_number(double found, double expected)
{
    assert_true(isnan(expected) ? isnan(found) : found == expected);
}

/* Adds it to both files and looks at what is there of it. */
static void expect_kept(struct pairs *pairs, const struct model_delivery *delivery)
{
    struct pair pair;

    for (int side = 0; side < 2; side++) {
        const struct pair_side *kept = &pair.sides[side];

        add(pairs, side, delivery);
        pair = pairs_get(pairs, pairs->count - 1);
        assert_true(kept->present && kept->ok == (delivery->status == MODEL_OK));
        assert_true(kept->parts[PAIR_TOTAL] == delivery->total);
        assert_true(kept->parts[PAIR_PIPE] == delivery->pipe);
        assert_true(kept->parts[PAIR_WORKER] == delivery->worker);
        assert_true(kept->parts[PAIR_KERNEL] == delivery->kernel);
        expect_same_number(kept->compute, delivery->compute);
        expect_same_number(kept->instructions, delivery->instructions);
        assert_int_equal(kept->syscalls, delivery->syscalls);
    }
    assert_int_equal(pair.differences, 0);
    assert_string_equal(pair.vat_id, delivery->vat_id);
    assert_string_equal(pair.description, delivery->description);
    assert_true(pair.delivery_num == delivery->delivery_num);
}

static void deliveries_come_out_as_they_went_in(void **state)
{
    static const int64_t times[] = {0,  1,     999,   1000,           123456789, 123456000,
                                    -1, -5000, -5001, MODEL_NONE + 1, INT64_MAX, 86400000000000};
    static const double meters[] = {0, 3200, -1, 0.5, 0x1p53, 0x1p53 - 1, 1e300, NAN};
    struct pairs pairs = {0};
    int64_t number = 0;

    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        for (size_t j = 0; j < sizeof meters / sizeof meters[0]; j++) {
            struct model_delivery delivery = delivery_of("v1", number++, times[i]);

            delivery.compute = meters[j];
            delivery.instructions = meters[7 - j];
            delivery.pipe = j % 3 == 0 ? MODEL_NONE : times[11 - i];
            delivery.status = j % 2 == 0 ? MODEL_OK : MODEL_ERROR;
            delivery.syscalls = j * j * j * j * j * j;
            expect_kept(&pairs, &delivery);
        }
    }
    pairs_free(&pairs);
}

/* One thing changed in B, and what is said of it. */
static void expect_difference(struct model_delivery b, unsigned expected)
{
    struct model_delivery a = delivery_of("v1", 1, 5000);
    struct pairs pairs = {0};

    add(&pairs, 0, &a);
    add(&pairs, 1, &b);
    assert_int_equal(pairs_get(&pairs, 0).differences, expected);
    pairs_free(&pairs);
}

static void differences_are_found(void **state)
{
    struct model_delivery b = delivery_of("v1", 1, 7000);

    (void)state;
    expect_difference(b, 0);
    b.result_digest = 9;
    expect_difference(b, PAIR_RESULT);
    b.syscall_digest = 9;
    expect_difference(b, PAIR_RESULT | PAIR_SYSCALLS);
    b = delivery_of("v1", 1, 7000);
    b.status = MODEL_ERROR;
    b.compute = 3201;
    expect_difference(b, PAIR_RESULT | PAIR_COMPUTE);
    b = delivery_of("v1", 1, 7000);
    b.description = "bringOutYourDead";
    b.instructions = 5;
    expect_difference(b, PAIR_INPUT);
}

static void the_last_of_two_counts(void **state)
{
    struct model_delivery delivery = delivery_of("v1", 1, 5000);
    struct pairs pairs = {0};

    (void)state;
    add(&pairs, 0, &delivery);
    delivery.total = 6000;
    delivery.compute = 1;
    add(&pairs, 0, &delivery);
    add(&pairs, 1, &delivery);
    delivery.total = 7000;
    add(&pairs, 1, &delivery);
    assert_int_equal(pairs.count, 1);
    assert_true(pairs_get(&pairs, 0).sides[0].parts[PAIR_TOTAL] == 6000);
    assert_true(pairs_get(&pairs, 0).sides[1].parts[PAIR_TOTAL] == 7000);
    assert_int_equal(pairs_get(&pairs, 0).differences, 0);
    pairs_free(&pairs);
}

enum { VATS = 50, NUMBERS = 1000 };

/* Slogfiles of gigabytes have hundreds of thousands of deliveries. */
static void each_takes_a_hundred_bytes(void **state)
{
    struct pairs pairs = {0};
    struct error error;
    char vat[16];

    (void)state;
    for (int i = 0; i < 2 * VATS * NUMBERS; i++) {
        struct model_delivery delivery;

        snprintf(vat, sizeof vat, "v%d", i % VATS);
        delivery = delivery_of(vat, i / VATS % NUMBERS, 1234567 + i);
        add(&pairs, i / (VATS * NUMBERS), &delivery);
    }
    assert_int_equal(pairs_compute(&pairs, &error), 0);
    assert_int_equal(pairs.count, VATS * NUMBERS);
    assert_int_equal(pairs.both, VATS * NUMBERS);
    assert_true(pairs.bytes.length + pairs.slot_count * sizeof pairs.slots[0] +
                    pairs.count * sizeof pairs.entries[0] <
                100 * pairs.count);
    pairs_free(&pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_out_as_they_went_in),
        cmocka_unit_test(deliveries_come_out_as_they_went_in),
        cmocka_unit_test(differences_are_found),
        cmocka_unit_test(the_last_of_two_counts),
        cmocka_unit_test(each_takes_a_hundred_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
