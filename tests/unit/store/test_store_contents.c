/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/store.h"
#include "tests/unit/store/store_check.h"

enum { VAT = 1, OTHER_VAT = 2 };

static int open_in_memory(void **state)
{
    *state = store_open(NULL, &error);
    return *state == NULL ? -1 : 0;
}

static int close_again(void **state)
{
    store_close(*state);
    return 0;
}

/* ---- the kernel's keys ---- */

static void key_has(struct store *store, const char *key, const char *expected)
{
    struct buf value = {0};
    bool found;

    OK(store_key_get(store, key, &value, &found, &error));
    same(&value, found, expected);
}

static void a_key_is_got_until_it_is_deleted(void **state)
{
    struct store *store = *state;
    struct buf value = {0};
    bool found;

    key_has(store, "a", NULL);
    OK(store_key_set(store, "a", bytes("1"), &error));
    key_has(store, "a", "1");
    OK(store_key_set(store, "a", bytes(""), &error));
    key_has(store, "a", "");
    OK(store_key_delete(store, "a", &error));
    OK(store_key_delete(store, "a", &error));
    key_has(store, "a", NULL);
    OK(store_key_set(store, "b", bytes("behind"), &error));
    buf_append_string(&value, "before ");
    OK(store_key_get(store, "b", &value, &found, &error));
    same(&value, found, "before behind");
}

static void next_key(struct store *store, const char *prefix, const char *after,
                     const char *expected)
{
    struct buf key = {0};
    bool found;

    OK(store_key_next(store, prefix, after, &key, &found, &error));
    same(&key, found, expected);
}

static void keys_of_a_prefix_follow_in_the_order_of_their_bytes(void **state)
{
    static const char *const keys[] = {"v1.c.ko20", "v1.c.ko3", "v1.c.", "v10.c", "v2", "\xc3\xa9"};
    struct store *store = *state;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        OK(store_key_set(store, keys[i], bytes("x"), &error));
    next_key(store, "v1.c.", "", "v1.c.");
    next_key(store, "v1.c.", "v1.c.", "v1.c.ko20");
    next_key(store, "v1.c.", "v1.c.ko20", "v1.c.ko3");
    next_key(store, "v1.c.", "v1.c.ko3", NULL);
    next_key(store, "v1.c.", "a", "v1.c.");
    next_key(store, "v1.c.", "z", NULL);
    next_key(store, "", "", "v1.c.");
    next_key(store, "", "v2", "\xc3\xa9");
    next_key(store, "w", "", NULL);
}

static void all_keys_can_be_gone_through_with_one_buffer(void **state)
{
    struct store *store = *state;
    struct buf key = {0};
    bool found = true;
    int count = 0;

    OK(store_key_set(store, "k1", bytes(""), &error));
    OK(store_key_set(store, "k2", bytes(""), &error));
    OK(store_key_set(store, "k3", bytes(""), &error));
    while (found) {
        OK(store_key_next(store, "k", buf_string(&key), &key, &found, &error));
        count += found;
    }
    assert_int_equal(count, 3);
    buf_free(&key);
}

/* ---- vatstores ---- */

static void vat_set(struct store *store, const char *key, const char *value)
{
    OK(store_vat_set(store, VAT, bytes(key), bytes(value), &error));
}

/* Checks that the value is this text; NULL: absent. */
static void vat_has(struct store *store, int64_t vat, const char *key, const char *expected)
{
    struct buf value = {0};
    bool found;

    OK(store_vat_get(store, vat, bytes(key), &value, &found, &error));
    same(&value, found, expected);
}

static void get_returns_what_set_stored_until_deleted(void **state)
{
    struct store *store = *state;

    vat_has(store, VAT, "a", NULL);
    vat_set(store, "a", "1");
    vat_has(store, VAT, "a", "1");
    vat_has(store, OTHER_VAT, "a", NULL);
    vat_set(store, "a", "");
    vat_has(store, VAT, "a", "");
    vat_set(store, "", "empty key");
    vat_has(store, VAT, "", "empty key");
    OK(store_vat_delete(store, VAT, bytes("a"), &error));
    OK(store_vat_delete(store, VAT, bytes("a"), &error));
    vat_has(store, VAT, "a", NULL);
}

static void a_vats_store_is_deleted_alone(void **state)
{
    struct store *store = *state;
    struct store_sum sum;

    vat_set(store, "a", "12");
    vat_set(store, "bc", "3");
    OK(store_vat_set(store, OTHER_VAT, bytes("a"), bytes("4"), &error));
    OK(store_vat_sum(store, VAT, &sum, &error));
    assert_int_equal(sum.items, 2);
    assert_int_equal(sum.bytes, 6);
    OK(store_vat_delete_all(store, VAT, &error));
    vat_has(store, VAT, "a", NULL);
    vat_has(store, OTHER_VAT, "a", "4");
    OK(store_vat_sum(store, VAT, &sum, &error));
    assert_int_equal(sum.items, 0);
    assert_int_equal(sum.bytes, 0);
}

static void keys_and_values_of_vats_hold_any_byte(void **state)
{
    static char key[] = "a\0b", value[] = "\0\xff\0";
    const struct iovec key_bytes = {key, 3}, value_bytes = {value, 3};
    struct store *store = *state;
    struct buf got = {0};
    bool found;

    OK(store_vat_set(store, VAT, key_bytes, value_bytes, &error));
    vat_has(store, VAT, "a", NULL);
    OK(store_vat_get(store, VAT, key_bytes, &got, &found, &error));
    assert_true(found);
    assert_int_equal(got.length, 3);
    assert_memory_equal(got.data, value, 3);
    buf_free(&got);
}

static void next_of(struct store *store, struct iovec key, const char *expected)
{
    struct buf next = {0};
    bool found;

    OK(store_vat_next_key(store, VAT, key, &next, &found, &error));
    same(&next, found, expected);
}

static void keys_of_vats_follow_in_the_order_of_their_bytes(void **state)
{
    static char zero[] = "a\0";
    struct store *store = *state;

    vat_set(store, "a", "");
    vat_set(store, "B", "");
    vat_set(store, "aa", "");
    vat_set(store, "\xc3\xa9", "");
    vat_set(store, "b10", "");
    vat_set(store, "b9", "");
    next_of(store, bytes(""), "B");
    next_of(store, bytes("B"), "a");
    next_of(store, bytes("a"), "aa");
    next_of(store, (struct iovec){zero, 2}, "aa");
    next_of(store, bytes("aa"), "b10");
    next_of(store, bytes("b10"), "b9");
    next_of(store, bytes("b9"), "\xc3\xa9");
    next_of(store, bytes("\xc3\xa9"), NULL);
}

/* ---- watching ---- */

static void note_change(void *context, const struct store_changed *change)
{
    buf_printf(context, "%c %.*s=%.*s\n", change->what, (int)change->key.iov_len,
               (char *)change->key.iov_base, (int)change->value.iov_len,
               (char *)change->value.iov_base);
}

static void changes_are_reported_in_order_even_without_effect(void **state)
{
    struct store *store = *state;
    struct buf reported = {0};

    store_watch(store, note_change, &reported);
    OK(store_key_set(store, "a", bytes("1"), &error));
    vat_set(store, "k", "2");
    OK(store_key_set(store, "a", bytes("1"), &error));
    OK(store_vat_delete(store, VAT, bytes("k"), &error));
    OK(store_key_delete(store, "a", &error));
    OK(store_key_delete(store, "a", &error));
    OK(store_vat_delete_all(store, OTHER_VAT, &error));
    store_watch(store, NULL, NULL);
    OK(store_key_set(store, "a", bytes("1"), &error));
    assert_string_equal(buf_string(&reported), "s a=1\ns v1.vs.k=2\ns a=1\nd v1.vs.k=\nd a=\nd a=\n"
                                               "e v2.vs.=\n");
    buf_free(&reported);
}

/* ---- transcripts ---- */

static void item_is(struct store *store, int64_t incarnation, int64_t position,
                    const char *expected)
{
    struct buf item = {0};
    bool found;

    OK(store_transcript_get(store, VAT, incarnation, position, &item, &found, &error));
    same(&item, found, expected);
}

static void bounds_are(struct store *store, int64_t incarnation, int64_t first, int64_t end)
{
    int64_t found_first, found_end;

    OK(store_transcript_bounds(store, VAT, incarnation, &found_first, &found_end, &error));
    assert_int_equal(found_first, first);
    assert_int_equal(found_end, end);
}

static void items_are_found_by_incarnation_and_position(void **state)
{
    struct store *store = *state;

    bounds_are(store, 0, 0, 0);
    OK(store_transcript_add(store, VAT, 0, 0, bytes("start"), &error));
    OK(store_transcript_add(store, VAT, 0, 1, bytes("go"), &error));
    OK(store_transcript_add(store, VAT, 1, 0, bytes("again"), &error));
    OK(store_transcript_add(store, OTHER_VAT, 5, 0, bytes("other"), &error));
    item_is(store, 0, 1, "go");
    item_is(store, 1, 0, "again");
    item_is(store, 1, 1, NULL);
    bounds_are(store, 0, 0, 2);
    bounds_are(store, 1, 0, 1);
    OK(store_transcript_delete_all(store, VAT, &error));
    bounds_are(store, 0, 0, 0);
    item_is(store, 0, 1, NULL);
}

static void a_position_is_taken_once(void **state)
{
    struct store *store = *state;

    OK(store_transcript_add(store, VAT, 0, 0, bytes("first"), &error));
    assert_int_equal(store_transcript_add(store, VAT, 0, 0, bytes("second"), &error), -1);
    assert_int_equal(error.kind, ERROR_SYSTEM);
    item_is(store, 0, 0, "first");
}

/* ---- snapshots ---- */

/* A file in memory that begins with the text, at its beginning. */
static int file_of(const char *text, size_t size)
{
    int fd = memfd_create("snapshot", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void put(struct store *store, int64_t position, const char *text, size_t size,
                struct store_snapshot *snapshot)
{
    int fd = file_of(text, size);

    OK(store_snapshot_put(store, VAT, 0, position, fd, snapshot, &error));
    close(fd);
}

static void reads_as(struct store *store, const char *hash, const char *text, size_t size)
{
    int fd = file_of("", 0);
    char *found = malloc(size + 1);

    assert_non_null(found);
    OK(store_snapshot_read(store, hash, fd, &error));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(read(fd, found, size + 1), size);
    assert_memory_equal(found, text, strlen(text));
    for (size_t i = strlen(text); i < size; i++)
        assert_int_equal(found[i], 0);
    free(found);
    close(fd);
}

enum { SNAPSHOT_SIZE = 1000000 };

static void a_snapshot_comes_out_as_it_went_in(void **state)
{
    struct store *store = *state;
    struct store_snapshot snapshot, last;
    int64_t position;
    bool found;

    put(store, 7, "heap", SNAPSHOT_SIZE, &snapshot);
    /* (printf heap; head -c 999996 /dev/zero) | sha256sum */
    assert_string_equal(snapshot.hash,
                        "be348b25ca90e5d99d11e6f01892f55f1bce5d8f9b18d0fff6e6b32dc4e736f0");
    assert_int_equal(snapshot.size, SNAPSHOT_SIZE);
    assert_true(snapshot.compressed_size > 0 && snapshot.compressed_size < SNAPSHOT_SIZE / 100);
    OK(store_snapshot_last(store, VAT, 0, &position, &last, &found, &error));
    assert_true(found);
    assert_int_equal(position, 7);
    assert_string_equal(last.hash, snapshot.hash);
    assert_int_equal(last.size, snapshot.size);
    assert_int_equal(last.compressed_size, snapshot.compressed_size);
    reads_as(store, snapshot.hash, "heap", SNAPSHOT_SIZE);
    OK(store_snapshot_last(store, VAT, 1, &position, &last, &found, &error));
    assert_false(found);
}

static int64_t snapshots_kept(struct store *store)
{
    struct store_sums sums;

    OK(store_sum_all(store, &sums, &error));
    return sums.snapshots.items;
}

/* Returns -1 without one. */
static int64_t last_position(struct store *store)
{
    struct store_snapshot last;
    int64_t position = -1;
    bool found;

    OK(store_snapshot_last(store, VAT, 0, &position, &last, &found, &error));
    return found ? position : -1;
}

static void only_what_is_referred_to_is_kept(void **state)
{
    struct store *store = *state;
    struct store_snapshot first, second, warm;
    int64_t position;
    bool found;
    int fd;

    put(store, 1, "first", 10, &first);
    put(store, 2, "second", 10, &second);
    assert_int_equal(snapshots_kept(store), 2);
    OK(store_snapshot_before(store, VAT, 0, &position, &warm, &found, &error));
    assert_true(found);
    assert_int_equal(position, 1);
    assert_string_equal(warm.hash, first.hash);
    OK(store_snapshot_delete(store, VAT, 0, 2, &error));
    assert_int_equal(snapshots_kept(store), 1);
    assert_int_equal(last_position(store), 1);
    OK(store_snapshot_before(store, VAT, 0, &position, &warm, &found, &error));
    assert_false(found);
    put(store, 2, "second", 10, &second);
    fd = file_of("second", 10);
    OK(store_snapshot_put_named(store, "warm", fd, &warm, &error));
    close(fd);
    assert_string_equal(warm.hash, second.hash);
    assert_int_equal(snapshots_kept(store), 2);
    put(store, 3, "third", 10, &first);
    put(store, 4, "fourth", 10, &first);
    assert_int_equal(snapshots_kept(store), 3);
    OK(store_snapshot_delete_all(store, VAT, &error));
    assert_int_equal(snapshots_kept(store), 1);
    OK(store_snapshot_named(store, "warm", &warm, &found, &error));
    assert_true(found);
    reads_as(store, warm.hash, "second", 10);
    OK(store_snapshot_named(store, "cold", &warm, &found, &error));
    assert_false(found);
}

/* ---- snapshots that are late ---- */

static int count_kept(void *context, const struct store_snapshot *snapshot, struct error *ignored)
{
    int *times = context;

    (void)ignored;
    assert_int_equal(snapshot->size, SNAPSHOT_SIZE);
    ++*times;
    return 0;
}

static int64_t late_position(struct store *store)
{
    struct store_snapshot last;
    int64_t position;
    bool found;

    OK(store_snapshot_last(store, VAT, 0, &position, &last, &found, &error));
    if (found)
        reads_as(store, last.hash, "heap", SNAPSHOT_SIZE);
    return last_position(store);
}

static void put_late(struct store *store, int64_t position, int *times)
{
    const struct store_background_listener listener = {.context = times, .kept = count_kept};

    OK(store_transaction_begin(store, &error));
    OK(store_snapshot_put_in_background(store, VAT, 0, position, file_of("heap", SNAPSHOT_SIZE),
                                        &listener, &error));
}

static void commit_waits_for_a_background_snapshot(void **state)
{
    struct store *store = *state;
    int times = 0;

    put_late(store, 7, &times);
    OK(store_transaction_commit(store, &error));
    assert_int_equal(times, 1);
    assert_false(store_snapshot_is_pending(store));
    store_transaction_rollback(store);
    assert_int_equal(late_position(store), 7);
}

static void background_snapshots_keep_their_order(void **state)
{
    struct store *store = *state;
    int times = 0;

    put_late(store, 7, &times);
    put_late(store, 8, &times);
    assert_int_equal(times, 0);
    OK(store_transaction_commit(store, &error));
    assert_int_equal(times, 2);
    assert_int_equal(late_position(store), 8);
    assert_int_equal(snapshots_kept(store), 1);
}

static void excess_background_snapshot_waits_for_earlier_ones(void **state)
{
    struct store *store = *state;
    int times = 0;

    for (int64_t position = 0; position < STORE_BACKGROUND_MAX; position++)
        put_late(store, position, &times);
    assert_int_equal(times, 0);
    put_late(store, STORE_BACKGROUND_MAX, &times);
    assert_int_equal(times, STORE_BACKGROUND_MAX);
    OK(store_transaction_commit(store, &error));
    assert_int_equal(times, STORE_BACKGROUND_MAX + 1);
    assert_int_equal(late_position(store), STORE_BACKGROUND_MAX);
}

/* They are put by a crank that is undone, and again by the commit. */
static void undoing_a_crank_keeps_several_background_snapshots(void **state)
{
    struct store *store = *state;
    int times = 0;

    put_late(store, 7, &times);
    put_late(store, 8, &times);
    OK(store_savepoint_set(store, &error));
    assert_int_equal(late_position(store), 8);
    OK(store_savepoint_undo(store, &error));
    put_late(store, 9, &times);
    OK(store_savepoint_set(store, &error));
    OK(store_savepoint_release(store, &error));
    OK(store_transaction_commit(store, &error));
    assert_int_equal(times, 3);
    assert_int_equal(late_position(store), 9);
}

static void background_snapshot_is_dropped_with_its_transaction(void **state)
{
    struct store *store = *state;
    int times = 0;

    put_late(store, 7, &times);
    store_transaction_rollback(store);
    assert_int_equal(times, 1);
    assert_int_equal(late_position(store), -1);
}

/* The crank in which it was looked for is undone; the snapshot is from before. */
static void undoing_a_later_crank_keeps_a_background_snapshot(void **state)
{
    struct store *store = *state;
    int times = 0;

    put_late(store, 7, &times);
    OK(store_savepoint_set(store, &error));
    OK(store_savepoint_set(store, &error));
    assert_int_equal(late_position(store), 7);
    OK(store_savepoint_release(store, &error));
    OK(store_snapshot_delete_all(store, VAT, &error));
    OK(store_savepoint_undo(store, &error));
    OK(store_transaction_commit(store, &error));
    assert_int_equal(times, 1);
    assert_int_equal(late_position(store), 7);
}

static void deletion_includes_a_background_snapshot(void **state)
{
    struct store *store = *state;
    int times = 0;

    put_late(store, 7, &times);
    OK(store_savepoint_set(store, &error));
    OK(store_snapshot_delete_all(store, VAT, &error));
    OK(store_savepoint_release(store, &error));
    OK(store_transaction_commit(store, &error));
    assert_int_equal(late_position(store), -1);
    assert_int_equal(snapshots_kept(store), 0);
}

static void unreadable_background_snapshot_fails_the_commit(void **state)
{
    struct store *store = *state;
    const struct store_background_listener listener = {.kept = count_kept};

    OK(store_transaction_begin(store, &error));
    OK(store_snapshot_put_in_background(store, VAT, 0, 7, open("/", O_RDONLY | O_CLOEXEC),
                                        &listener, &error));
    assert_int_equal(store_transaction_commit(store, &error), -1);
    assert_non_null(strstr(error.text, "cannot read a snapshot"));
    store_transaction_rollback(store);
}

static void missing_snapshot_is_reported(void **state)
{
    struct store *store = *state;
    int fd = file_of("", 0);

    assert_int_equal(store_snapshot_read(store, "0123456789abcdef", fd, &error), -1);
    assert_non_null(strstr(error.text, "no snapshot 0123456789abcdef"));
    close(fd);
}

static void a_snapshot_without_bytes_is_one_too(void **state)
{
    struct store *store = *state;
    struct store_snapshot snapshot;

    put(store, 0, "", 0, &snapshot);
    reads_as(store, snapshot.hash, "", 0);
}

/* ---- bundles, sums ---- */

static void a_bundle_stays_as_it_first_was(void **state)
{
    struct store *store = *state;
    struct buf json = {0};
    bool found;

    OK(store_bundle_get(store, "b1-0", &json, &found, &error));
    same(&json, found, NULL);
    OK(store_bundle_put(store, "b1-0", bytes("{}"), &error));
    OK(store_bundle_put(store, "b1-0", bytes("[]"), &error));
    OK(store_bundle_get(store, "b1-0", &json, &found, &error));
    same(&json, found, "{}");
}

static void everything_is_counted(void **state)
{
    struct store *store = *state;
    struct store_snapshot snapshot;
    struct store_sums sums;

    OK(store_key_set(store, "\xc3\xa9", bytes("1"), &error));
    vat_set(store, "ab", "1");
    OK(store_transcript_add(store, VAT, 0, 0, bytes("item"), &error));
    OK(store_bundle_put(store, "b1-0", bytes("{ }"), &error));
    put(store, 0, "heap", 10, &snapshot);
    OK(store_sum_all(store, &sums, &error));
    assert_int_equal(sums.keys.items, 1);
    assert_int_equal(sums.keys.bytes, 3);
    assert_int_equal(sums.vatstores.items, 1);
    assert_int_equal(sums.vatstores.bytes, 3);
    assert_int_equal(sums.transcripts.bytes, 4);
    assert_int_equal(sums.bundles.bytes, 3);
    assert_int_equal(sums.snapshots.bytes, snapshot.compressed_size);
    assert_true(sums.file_bytes > 0);
    assert_int_equal(sums.free_bytes, 0);
}

#define IN_MEMORY(test) cmocka_unit_test_setup_teardown(test, open_in_memory, close_again)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_MEMORY(a_key_is_got_until_it_is_deleted),
        IN_MEMORY(keys_of_a_prefix_follow_in_the_order_of_their_bytes),
        IN_MEMORY(all_keys_can_be_gone_through_with_one_buffer),
        IN_MEMORY(get_returns_what_set_stored_until_deleted),
        IN_MEMORY(a_vats_store_is_deleted_alone),
        IN_MEMORY(keys_and_values_of_vats_hold_any_byte),
        IN_MEMORY(keys_of_vats_follow_in_the_order_of_their_bytes),
        IN_MEMORY(changes_are_reported_in_order_even_without_effect),
        IN_MEMORY(items_are_found_by_incarnation_and_position),
        IN_MEMORY(a_position_is_taken_once),
        IN_MEMORY(a_snapshot_comes_out_as_it_went_in),
        IN_MEMORY(only_what_is_referred_to_is_kept),
        IN_MEMORY(missing_snapshot_is_reported),
        IN_MEMORY(commit_waits_for_a_background_snapshot),
        IN_MEMORY(background_snapshots_keep_their_order),
        IN_MEMORY(excess_background_snapshot_waits_for_earlier_ones),
        IN_MEMORY(undoing_a_crank_keeps_several_background_snapshots),
        IN_MEMORY(background_snapshot_is_dropped_with_its_transaction),
        IN_MEMORY(undoing_a_later_crank_keeps_a_background_snapshot),
        IN_MEMORY(deletion_includes_a_background_snapshot),
        IN_MEMORY(unreadable_background_snapshot_fails_the_commit),
        IN_MEMORY(a_snapshot_without_bytes_is_one_too),
        IN_MEMORY(a_bundle_stays_as_it_first_was),
        IN_MEMORY(everything_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
