/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and transcripts, whose tables are written late, against a model that is an array. */
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

enum { SPACES = 3, KEYS = 12, ITEMS = 8, DEPTH_MAX = 3, STEPS = 40000, RUNS = 4 };

/* The value of each key, of the kernel's and of the vatstores of vats 1 and 2; 0: absent.
 * And the items of vat 1's transcript. */
struct state {
    uint32_t values[SPACES][KEYS];
    uint32_t items[ITEMS];
    int64_t item_count;
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

static void get(struct store *store, uint32_t space, uint32_t key, struct buf *value, bool *found)
{
    if (space == 0)
        OK(store_key_get(store, name_of(key), value, found, &error));
    else
        OK(store_vat_get(store, space, bytes(name_of(key)), value, found, &error));
}

static void put(struct store *store, uint32_t space, uint32_t key, const char *text)
{
    if (space == 0)
        OK(store_key_set(store, name_of(key), bytes(text), &error));
    else
        OK(store_vat_set(store, space, bytes(name_of(key)), bytes(text), &error));
}

static void take_out(struct store *store, uint32_t space, uint32_t key)
{
    if (space == 0)
        OK(store_key_delete(store, name_of(key), &error));
    else
        OK(store_vat_delete(store, space, bytes(name_of(key)), &error));
}

static void next_key(struct store *store, uint32_t space, struct buf *key, bool *found)
{
    const char *after = key->length == 0 ? "" : buf_string(key);
    struct buf next = {0};

    if (space == 0)
        OK(store_key_next(store, "k", after, &next, found, &error));
    else
        OK(store_vat_next_key(store, space, bytes(after), &next, found, &error));
    buf_free(key);
    *key = next;
}

static void expect(struct store *store, struct model *model, uint32_t space, uint32_t key)
{
    const uint32_t expected = state_now(model)->values[space][key];
    struct buf value = {0};
    char text[16];
    bool found;

    snprintf(text, sizeof text, "%u", expected);
    get(store, space, key, &value, &found);
    same(&value, found, expected == 0 ? NULL : text);
}

/* The keys in the table's order. */
static void expect_order(struct store *store, struct model *model, uint32_t space)
{
    struct buf key = {0};
    bool found;

    for (uint32_t i = 0; i < KEYS; i++) {
        if (state_now(model)->values[space][i] == 0)
            continue;
        next_key(store, space, &key, &found);
        assert_true(found);
        assert_string_equal(buf_string(&key), name_of(i));
    }
    next_key(store, space, &key, &found);
    assert_false(found);
    buf_free(&key);
}

static void expect_items(struct store *store, struct model *model)
{
    const struct state *now = state_now(model);
    struct buf item = {0};
    int64_t first, end;
    char text[16];
    bool found;

    OK(store_transcript_bounds(store, 1, 0, &first, &end, &error));
    assert_int_equal(end, now->item_count);
    for (int64_t i = 0; i <= now->item_count; i++) {
        OK(store_transcript_get(store, 1, 0, i, &item, &found, &error));
        snprintf(text, sizeof text, "%u", i < now->item_count ? now->items[i] : 0);
        same(&item, found, i < now->item_count ? text : NULL);
    }
}

static void change(struct store *store, struct model *model)
{
    const uint32_t space = draw(model, SPACES), key = draw(model, KEYS);
    uint32_t *value = &state_now(model)->values[space][key];
    char text[16];

    if (!model->open)
        return;
    if (draw(model, 3) == 0) {
        take_out(store, space, key);
        *value = 0;
        return;
    }
    *value = draw(model, 4) == 0 ? 1 : ++model->last_value;
    snprintf(text, sizeof text, "%u", *value);
    put(store, space, key, text);
}

static void add_item(struct store *store, struct model *model)
{
    struct state *now = state_now(model);
    char text[16];

    if (!model->open)
        return;
    if (now->item_count == ITEMS || draw(model, 16) == 0) {
        OK(store_transcript_delete_all(store, 1, &error));
        now->item_count = 0;
        return;
    }
    snprintf(text, sizeof text, "%u", ++model->last_value);
    OK(store_transcript_add(store, 1, 0, now->item_count, bytes(text), &error));
    now->items[now->item_count++] = model->last_value;
}

static void empty_vat(struct store *store, struct model *model)
{
    const uint32_t vat = 1 + draw(model, SPACES - 1);

    if (!model->open)
        return;
    OK(store_vat_delete_all(store, vat, &error));
    memset(state_now(model)->values[vat], 0, sizeof state_now(model)->values[vat]);
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

/* Also as the other thread does it. */
static void commit(struct store *store, bool handed_over)
{
    if (!handed_over) {
        OK(store_transaction_commit(store, &error));
        return;
    }
    OK(store_transaction_hand_over(store, &error));
    OK(store_commit_write(store, &error));
}

static void end_transaction(struct store *store, struct model *model)
{
    if (model->depth > 0)
        return;
    if (draw(model, 4) == 0) {
        store_transaction_rollback(store);
        model->states[0] = model->committed;
    } else {
        commit(store, draw(model, 2) == 0);
        model->committed = model->states[0];
    }
    model->open = false;
    if (draw(model, 16) == 0)
        check_whole(store);
}

static void look_through(struct store *store, struct model *model)
{
    if (draw(model, 2) == 0)
        expect_order(store, model, draw(model, SPACES));
    else
        expect_items(store, model);
}

static void take_step(struct store *store, struct model *model)
{
    const uint32_t which = draw(model, 64);

    if (which < 24)
        change(store, model);
    else if (which < 32)
        add_item(store, model);
    else if (which < 40)
        expect(store, model, draw(model, SPACES), draw(model, KEYS));
    else if (which < 48)
        set_savepoint(store, model);
    else if (which < 56)
        end_savepoint(store, model);
    else if (which < 61)
        end_transaction(store, model);
    else if (which == 61)
        empty_vat(store, model);
    else
        look_through(store, model);
}

static void any_order_of_changes_comes_to_what_it_says(void **state)
{
    (void)state;
    for (uint64_t run = 0; run < RUNS; run++) {
        struct store *store = store_open(NULL, &error);
        struct model model = {.seed = run};

        assert_non_null(store);
        /* In half of the runs little is cached, and some values are large. */
        store->cache.kept_max = run % 2;
        store->large_value = run % 2 * 3;
        for (int i = 0; i < STEPS; i++)
            take_step(store, &model);
        for (uint32_t space = 0; space < SPACES; space++) {
            expect_order(store, &model, space);
            for (uint32_t key = 0; key < KEYS; key++)
                expect(store, &model, space, key);
        }
        expect_items(store, &model);
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

static void freed_entries_release_their_memory(void **state)
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

/* Nor do items of a transcript, written with the commit or before. */
static void items_take_no_memory_once_they_are_written(void **state)
{
    enum { NUMBER = 2000, SIZE = 10000, OF_A_COMMIT = 20 };
    struct store *store = store_open(NULL, &error);
    static char item[SIZE];
    struct buf key = {0};
    bool found;

    (void)state;
    assert_non_null(store);
    memset(item, 'x', sizeof item);
    for (int64_t i = 0; i < NUMBER; i++) {
        OK(store_savepoint_set(store, &error));
        OK(store_transcript_add(store, 1, 0, i, (struct iovec){item, sizeof item}, &error));
        if (i % 3 == 0)
            OK(store_vat_next_key(store, 1, bytes(""), &key, &found, &error));
        OK(store_savepoint_release(store, &error));
        if (i % OF_A_COMMIT == 0)
            OK(store_transaction_commit(store, &error));
        assert_true(store->cache.bytes < 2 * OF_A_COMMIT * SIZE);
    }
    OK(store_transaction_commit(store, &error));
    check_whole(store);
    store_close(store);
}

/* More than is kept in memory before it is written. */
static void much_that_is_undone_is_gone(void **state)
{
    enum { NUMBER = 30, SIZE = 1 << 20 };
    struct store *store = store_open(NULL, &error);
    static char large[SIZE];
    struct buf value = {0};
    bool found;

    (void)state;
    assert_non_null(store);
    for (int undone = 1; undone >= 0; undone--) {
        OK(store_savepoint_set(store, &error));
        for (uint32_t i = 0; i < NUMBER; i++)
            OK(store_vat_set(store, 1, bytes(name_of(i)), (struct iovec){large, SIZE}, &error));
        if (undone)
            OK(store_savepoint_undo(store, &error));
        else
            OK(store_savepoint_release(store, &error));
        OK(store_transaction_commit(store, &error));
        for (uint32_t i = 0; i < NUMBER; i++) {
            buf_clear(&value);
            OK(store_vat_get(store, 1, bytes(name_of(i)), &value, &found, &error));
            assert_int_equal(found, !undone);
            assert_int_equal(value.length, undone ? 0 : SIZE);
        }
        check_whole(store);
    }
    buf_free(&value);
    store_close(store);
}

/* As a delivery can that goes through all that its vat has. */
static void reading_takes_bounded_memory(void **state)
{
    enum { NUMBER = 100, SIZE = 1 << 20, BOUND = 70 * SIZE };
    struct store *store = store_open(NULL, &error);
    static char large[SIZE];
    struct buf value = {0};
    bool found;

    (void)state;
    assert_non_null(store);
    for (uint32_t i = 0; i < NUMBER; i++) {
        OK(store_vat_set(store, 1, bytes(name_of(i)), (struct iovec){large, SIZE}, &error));
        assert_true(store->cache.bytes < BOUND);
    }
    OK(store_savepoint_set(store, &error));
    for (uint32_t i = 0; i < NUMBER; i++) {
        buf_clear(&value);
        OK(store_vat_get(store, 1, bytes(name_of(i)), &value, &found, &error));
        assert_true(found && value.length == SIZE);
        assert_true(store->cache.bytes < BOUND);
    }
    OK(store_savepoint_release(store, &error));
    OK(store_transaction_commit(store, &error));
    check_whole(store);
    buf_free(&value);
    store_close(store);
}

static int pages_used(struct store *store)
{
    int hits, misses, most;

    sqlite3_db_status(store->database, SQLITE_DBSTATUS_CACHE_HIT, &hits, &most, 0);
    sqlite3_db_status(store->database, SQLITE_DBSTATUS_CACHE_MISS, &misses, &most, 0);
    return hits + misses;
}

/* A vat may go through its keys at no charge for their values. */
static void looking_for_the_next_key_reads_no_value(void **state)
{
    enum { SIZE = 1 << 20, PAGES = 20 };
    struct store *store = store_open(NULL, &error);
    static char large[SIZE];
    struct buf key = {0};
    bool found;
    int before;

    (void)state;
    assert_non_null(store);
    for (uint32_t i = 0; i < 2; i++)
        OK(store_vat_set(store, 1, bytes(name_of(i)), (struct iovec){large, SIZE}, &error));
    OK(store_transaction_commit(store, &error));
    before = pages_used(store);
    OK(store_vat_next_key(store, 1, bytes(name_of(0)), &key, &found, &error));
    assert_true(found && strcmp(buf_string(&key), name_of(1)) == 0);
    assert_true(pages_used(store) - before < PAGES);
    buf_free(&key);
    store_close(store);
}

/* A name that was noted as new is asked of the table once the cache has lost its key. */
static void a_new_name_is_found_when_the_cache_is_full(void **state)
{
    struct store *store = store_open(NULL, &error);
    struct buf value = {0};
    bool found;

    (void)state;
    assert_non_null(store);
    store->cache.kept_max = 1;
    OK(store_name_note_new(store, "kp40", &error));
    OK(store_key_set(store, "kp40.state", bytes("unresolved"), &error));
    OK(store_transaction_commit(store, &error));
    OK(store_key_get(store, "kp40.state", &value, &found, &error));
    same(&value, found, "unresolved");
    /* And a whole key that was noted, within a savepoint. */
    OK(store_savepoint_set(store, &error));
    OK(store_name_note_new(store, "runQueue.4", &error));
    OK(store_key_set(store, "runQueue.4", bytes("send"), &error));
    OK(key_writes_finish(store, &error));
    OK(store_key_get(store, "runQueue.4", &value, &found, &error));
    same(&value, found, "send");
    OK(store_savepoint_release(store, &error));
    buf_free(&value);
    store_close(store);
}

/* A delivery that writes much, and is undone or not. */
static void writing_takes_bounded_memory(void **state)
{
    enum { NUMBER = 300, SIZE = 250 << 10, BOUND = 70 << 20 };
    struct store *store = store_open(NULL, &error);
    static char large[SIZE];

    (void)state;
    assert_non_null(store);
    for (int i = 0; i < 3; i++) {
        OK(store_savepoint_set(store, &error));
        OK(store_savepoint_set(store, &error));
        for (uint32_t j = 0; j < NUMBER; j++) {
            OK(store_vat_set(store, 1, bytes(name_of(j)), (struct iovec){large, SIZE}, &error));
            assert_true(store->cache.bytes < BOUND);
        }
        if (i == 1)
            OK(store_savepoint_undo(store, &error));
        else
            OK(store_savepoint_release(store, &error));
        OK(store_savepoint_release(store, &error));
        OK(store_transaction_commit(store, &error));
        assert_true(store->cache.bytes < BOUND);
    }
    check_whole(store);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_name_is_found_when_the_cache_is_full),
        cmocka_unit_test(writing_takes_bounded_memory),
        cmocka_unit_test(any_order_of_changes_comes_to_what_it_says),
        cmocka_unit_test(a_key_that_comes_and_goes_is_never_written),
        cmocka_unit_test(freed_entries_release_their_memory),
        cmocka_unit_test(items_take_no_memory_once_they_are_written),
        cmocka_unit_test(much_that_is_undone_is_gone),
        cmocka_unit_test(reading_takes_bounded_memory),
        cmocka_unit_test(looking_for_the_next_key_reads_no_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
