/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's keys, whose table is written late, against a model that is an array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/integrity/check.h"
#include "store/store.h"
#include "store/store_internal.h"
#include "tests/unit/store/store_check.h"

enum { KEYS = 12, DEPTH_MAX = 3, STEPS = 20000, RUNS = 4 };

/* The value of each key; 0: there is none. */
struct state {
    uint32_t values[KEYS];
};

struct model {
    struct state states[DEPTH_MAX + 1]; /* [depth]: now; below: at the savepoints */
    struct state committed;
    int depth;
    bool open; /* a transaction */
    uint64_t seed;
    uint32_t last_value;
};

static uint32_t draw(struct model *model, uint32_t below)
{
    model->seed = model->seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(model->seed >> 33) % below;
}

static struct state *state_now(struct model *model)
{
    return &model->states[model->depth];
}

static const char *name_of(uint32_t key)
{
    static char name[16];

    snprintf(name, sizeof name, "k%02u", key);
    return name;
}

static void expect(struct store *store, struct model *model, uint32_t key)
{
    const uint32_t expected = state_now(model)->values[key];
    struct buf value = {0};
    char text[16];
    bool found;

    snprintf(text, sizeof text, "%u", expected);
    OK(store_key_get(store, name_of(key), &value, &found, &error));
    same(&value, found, expected == 0 ? NULL : text);
}

/* The keys as the table has them, one behind the other. */
static void expect_order(struct store *store, struct model *model)
{
    struct buf key = {0};
    bool found;

    for (uint32_t i = 0; i < KEYS; i++) {
        if (state_now(model)->values[i] == 0)
            continue;
        OK(store_key_next(store, "k", key.length == 0 ? "" : buf_string(&key), &key, &found,
                          &error));
        assert_true(found);
        assert_string_equal(buf_string(&key), name_of(i));
    }
    OK(store_key_next(store, "k", key.length == 0 ? "" : buf_string(&key), &key, &found, &error));
    assert_false(found);
    buf_free(&key);
}

static void change(struct store *store, struct model *model)
{
    const uint32_t key = draw(model, KEYS);
    char text[16];

    if (!model->open)
        return;
    if (draw(model, 3) == 0) {
        OK(store_key_delete(store, name_of(key), &error));
        state_now(model)->values[key] = 0;
        return;
    }
    state_now(model)->values[key] = draw(model, 4) == 0 ? 1 : ++model->last_value;
    snprintf(text, sizeof text, "%u", state_now(model)->values[key]);
    OK(store_key_set(store, name_of(key), bytes(text), &error));
}

static void set_savepoint(struct store *store, struct model *model)
{
    if (model->depth == DEPTH_MAX)
        return;
    OK(store_savepoint_set(store, &error));
    model->open = true;
    model->states[model->depth + 1] = *state_now(model);
    model->depth++;
}

static void end_savepoint(struct store *store, struct model *model)
{
    if (model->depth == 0)
        return;
    if (draw(model, 2) == 0) {
        OK(store_savepoint_undo(store, &error));
    } else {
        OK(store_savepoint_release(store, &error));
        model->states[model->depth - 1] = *state_now(model);
    }
    model->depth--;
}

static void print_damage(void *context, const char *line)
{
    (void)context;
    print_error("%s\n", line);
}

static void check_whole(struct store *store)
{
    struct store_check check = {.damaged = print_damage};

    OK(store_check_rows(store, &check, &error));
    assert_int_equal(check.problems, 0);
}

static void end_transaction(struct store *store, struct model *model)
{
    if (model->depth > 0)
        return;
    if (draw(model, 4) == 0) {
        store_transaction_rollback(store);
        model->states[0] = model->committed;
    } else {
        OK(store_transaction_commit(store, &error));
        model->committed = model->states[0];
    }
    model->open = false;
    if (draw(model, 16) == 0)
        check_whole(store);
}

static void take_step(struct store *store, struct model *model)
{
    const uint32_t which = draw(model, 16);

    if (which < 7)
        change(store, model);
    else if (which < 10)
        expect(store, model, draw(model, KEYS));
    else if (which < 12)
        set_savepoint(store, model);
    else if (which < 14)
        end_savepoint(store, model);
    else if (which == 14)
        end_transaction(store, model);
    else if (draw(model, 4) == 0)
        expect_order(store, model);
}

static void any_order_of_changes_comes_to_what_it_says(void **state)
{
    (void)state;
    for (uint64_t run = 0; run < RUNS; run++) {
        struct store *store = store_open(NULL, &error);
        struct model model = {.seed = run};

        assert_non_null(store);
        for (int i = 0; i < STEPS; i++)
            take_step(store, &model);
        expect_order(store, &model);
        for (uint32_t key = 0; key < KEYS; key++)
            expect(store, &model, key);
        store_close(store);
    }
}

/* Such as a promise's, from its crank to the next. */
static void a_key_that_comes_and_goes_is_never_written(void **state)
{
    struct store *store = store_open(NULL, &error);
    int changes;

    (void)state;
    assert_non_null(store);
    OK(store_transaction_begin(store, &error));
    changes = sqlite3_total_changes(store->database);
    OK(store_savepoint_set(store, &error));
    OK(store_key_set(store, "kp1", bytes("unresolved"), &error));
    OK(store_savepoint_release(store, &error));
    OK(store_savepoint_set(store, &error));
    OK(store_key_set(store, "count", bytes("1"), &error));
    OK(store_key_set(store, "count", bytes("2"), &error));
    OK(store_key_delete(store, "kp1", &error));
    OK(store_savepoint_release(store, &error));
    assert_int_equal(sqlite3_total_changes(store->database), changes);
    OK(store_transaction_commit(store, &error));
    /* The key that stays, and the running hash. */
    assert_int_equal(sqlite3_total_changes(store->database), changes + 2);
    check_whole(store);
    store_close(store);
}

/* A promise that is settled when the next one is made, its name noted as new; `kept` of them all
 * stay unsettled. */
static void come_and_go(struct store *store, int number, int kept)
{
    char name[32], key[48];

    snprintf(name, sizeof name, "kp%d", number);
    snprintf(key, sizeof key, "%s.state", name);
    OK(store_savepoint_set(store, &error));
    OK(store_name_note_new(store, name, &error));
    OK(store_key_set(store, key, bytes("unresolved"), &error));
    OK(store_key_set(store, key, bytes("fulfilled"), &error));
    if (number >= kept) {
        snprintf(key, sizeof key, "kp%d.state", number - kept);
        OK(store_key_delete(store, key, &error));
    }
    OK(store_savepoint_release(store, &error));
}

static void what_came_and_went_takes_no_memory_for_long(void **state)
{
    enum { NUMBER = 20000, KEPT = 100, OF_A_COMMIT = 50 };
    struct store *store = store_open(NULL, &error);
    struct buf value = {0};
    size_t bytes_then = 0;
    char key[48];
    bool found;

    (void)state;
    assert_non_null(store);
    for (int i = 0; i < NUMBER; i++) {
        OK(store_transaction_begin(store, &error));
        come_and_go(store, i, KEPT);
        if (i % OF_A_COMMIT == 0)
            OK(store_transaction_commit(store, &error));
        if (i == NUMBER / 4)
            bytes_then = store->cache.bytes;
    }
    OK(store_transaction_commit(store, &error));
    assert_true(store->cache.bytes < bytes_then + bytes_then / 4);
    for (int i = NUMBER - 2 * KEPT; i < NUMBER; i++) {
        snprintf(key, sizeof key, "kp%d.state", i);
        OK(store_key_get(store, key, &value, &found, &error));
        same(&value, found, i < NUMBER - KEPT ? NULL : "fulfilled");
    }
    check_whole(store);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_of_changes_comes_to_what_it_says),
        cmocka_unit_test(a_key_that_comes_and_goes_is_never_written),
        cmocka_unit_test(what_came_and_went_takes_no_memory_for_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
