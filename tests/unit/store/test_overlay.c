/* SPDX-License-Identifier: Apache-2.0 */
/* An overlay over a vatstore reads as the vatstore would with the overlay's changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/overlay.h"
#include "store/store.h"
#include "tests/unit/store/store_check.h"

enum { VAT = 3, KEYS = 6, STEPS = 2000 };

static struct store *store;
static struct overlay overlay;

static int open_both(void **state)
{
    (void)state;
    store = store_open(NULL, &error);
    assert_non_null(store);
    overlay_init(&overlay, store, VAT);
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    overlay_free(&overlay);
    store_close(store);
    return 0;
}

static void expect(const char *key, const char *expected)
{
    struct buf value = {0};
    bool found;

    OK(overlay_get(&overlay, bytes(key), &value, &found, &error));
    same(&value, found, expected);
}

static void expect_next(const char *key, const char *expected)
{
    struct buf next = {0};
    bool found;

    OK(overlay_next_key(&overlay, bytes(key), &next, &found, &error));
    same(&next, found, expected);
}

static void changes_are_read_and_the_store_stays(void **state)
{
    struct buf value = {0};
    bool found;

    (void)state;
    OK(store_vat_set(store, VAT, bytes("a"), bytes("1"), &error));
    OK(store_vat_set(store, VAT, bytes("b"), bytes("2"), &error));
    OK(overlay_set(&overlay, bytes("a"), bytes("other"), &error));
    OK(overlay_delete(&overlay, bytes("b"), &error));
    OK(overlay_set(&overlay, bytes("c"), bytes(""), &error));
    expect("a", "other");
    expect("b", NULL);
    expect("c", "");
    expect("d", NULL);
    OK(store_vat_get(store, VAT, bytes("a"), &value, &found, &error));
    same(&value, found, "1");
    OK(store_vat_get(store, VAT, bytes("b"), &value, &found, &error));
    same(&value, found, "2");
}

static void keys_come_in_order_from_both(void **state)
{
    (void)state;
    OK(store_vat_set(store, VAT, bytes("b"), bytes("x"), &error));
    OK(store_vat_set(store, VAT, bytes("d"), bytes("x"), &error));
    OK(store_vat_set(store, VAT, bytes("e"), bytes("x"), &error));
    OK(overlay_set(&overlay, bytes("a"), bytes("x"), &error));
    OK(overlay_set(&overlay, bytes("bb"), bytes("x"), &error));
    OK(overlay_delete(&overlay, bytes("d"), &error));
    OK(overlay_delete(&overlay, bytes("nothing"), &error));
    expect_next("", "a");
    expect_next("a", "b");
    expect_next("b", "bb");
    expect_next("bb", "e");
    expect_next("e", NULL);
}

/* A number below `limit`, the same ones in each run. */
static int pick(int limit)
{
    static uint64_t state = 42;

    state = state * 6364136223846793005 + 1442695040888963407;
    return (int)((state >> 33) % (uint64_t)limit);
}

/* Changes one as it changes the other, a store of another vat. */
static void change_both(void)
{
    char key[2] = {(char)('a' + pick(KEYS)), '\0'};
    char value[2] = {(char)('0' + pick(10)), '\0'};

    if (pick(2) == 0) {
        OK(overlay_set(&overlay, bytes(key), bytes(value), &error));
        OK(store_vat_set(store, VAT + 1, bytes(key), bytes(value), &error));
    } else {
        OK(overlay_delete(&overlay, bytes(key), &error));
        OK(store_vat_delete(store, VAT + 1, bytes(key), &error));
    }
}

static void compare_both(void)
{
    const char key[2] = {(char)('a' + pick(KEYS)), '\0'};
    struct buf expected = {0};
    bool found;

    OK(store_vat_get(store, VAT + 1, bytes(key), &expected, &found, &error));
    expect(key, found ? buf_string(&expected) : NULL);
    buf_clear(&expected);
    OK(store_vat_next_key(store, VAT + 1, bytes(key), &expected, &found, &error));
    expect_next(key, found ? buf_string(&expected) : NULL);
    buf_free(&expected);
}

static void it_is_as_a_store_that_was_changed(void **state)
{
    (void)state;
    for (const char *key = "abcdef"; *key != '\0'; key += 2) {
        const char name[2] = {*key, '\0'};

        OK(store_vat_set(store, VAT, bytes(name), bytes("before"), &error));
        OK(store_vat_set(store, VAT + 1, bytes(name), bytes("before"), &error));
    }
    for (int i = 0; i < STEPS; i++) {
        compare_both();
        change_both();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(changes_are_read_and_the_store_stays, open_both,
                                        close_both),
        cmocka_unit_test_setup_teardown(keys_come_in_order_from_both, open_both, close_both),
        cmocka_unit_test_setup_teardown(it_is_as_a_store_that_was_changed, open_both, close_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
