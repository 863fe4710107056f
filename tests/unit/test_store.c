/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
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

#include "supervisor/store.h"

enum { VAT = 1, OTHER_VAT = 2 };

static struct error error;

static struct iovec bytes(const char *text)
{
    return (struct iovec){(char *)text, strlen(text)};
}

/* A folder of each test's own, which is the working directory meanwhile. */
static int enter_folder(void **state)
{
    char name[] = "/tmp/gaspipe-store.XXXXXX";

    assert_non_null(mkdtemp(name));
    *state = strdup(name);
    return *state == NULL ? -1 : chdir(name);
}

static int leave_folder(void **state)
{
    int result;

    unlink("s/gaspipe.sqlite");
    unlink("s/gaspipe.sqlite-wal");
    unlink("s/gaspipe.sqlite-shm");
    rmdir("s");
    result = chdir("/") != 0 || rmdir(*state) != 0;
    free(*state);
    return result;
}

static struct store *open_store(const char *folder)
{
    struct store *store = store_open(folder, &error);

    if (store == NULL)
        fail_msg("%s", error.text);
    return store;
}

static void set(struct store *store, const char *key, const char *value)
{
    assert_int_equal(store_set(store, VAT, bytes(key), bytes(value), &error), 0);
}

/* The value is this text; NULL: there is none. */
static void has(struct store *store, int64_t vat, const char *key, const char *expected)
{
    struct buf value = {0};
    bool found;

    assert_int_equal(store_get(store, vat, bytes(key), &value, &found, &error), 0);
    assert_int_equal(found, expected != NULL);
    if (expected != NULL)
        assert_string_equal(buf_string(&value), expected);
    buf_free(&value);
}

static void next_of(struct store *store, struct iovec key, const char *expected)
{
    struct buf next = {0};
    bool found;

    assert_int_equal(store_next_key(store, VAT, key, &next, &found, &error), 0);
    assert_int_equal(found, expected != NULL);
    if (expected != NULL)
        assert_string_equal(buf_string(&next), expected);
    buf_free(&next);
}

static void what_was_set_is_got_until_it_is_deleted(void **state)
{
    struct store *store = open_store(NULL);

    (void)state;
    has(store, VAT, "a", NULL);
    set(store, "a", "1");
    has(store, VAT, "a", "1");
    has(store, OTHER_VAT, "a", NULL);
    set(store, "a", "");
    has(store, VAT, "a", "");
    set(store, "", "empty key");
    has(store, VAT, "", "empty key");
    assert_int_equal(store_delete(store, VAT, bytes("a"), &error), 0);
    assert_int_equal(store_delete(store, VAT, bytes("a"), &error), 0);
    has(store, VAT, "a", NULL);
    store_close(store);
}

static void keys_and_values_hold_any_byte(void **state)
{
    static char key[] = "a\0b", value[] = "\0\xff\0";
    const struct iovec key_bytes = {key, 3}, value_bytes = {value, 3};
    struct store *store = open_store(NULL);
    struct buf got = {0};
    bool found;

    (void)state;
    assert_int_equal(store_set(store, VAT, key_bytes, value_bytes, &error), 0);
    has(store, VAT, "a", NULL);
    assert_int_equal(store_get(store, VAT, key_bytes, &got, &found, &error), 0);
    assert_true(found);
    assert_int_equal(got.length, 3);
    assert_memory_equal(got.data, value, 3);
    buf_free(&got);
    store_close(store);
}

static void keys_follow_in_the_order_of_their_bytes(void **state)
{
    static char zero[] = "a\0";
    struct store *store = open_store(NULL);

    (void)state;
    set(store, "a", "");
    set(store, "B", "");
    set(store, "aa", "");
    set(store, "\xc3\xa9", "");
    set(store, "b10", "");
    set(store, "b9", "");
    next_of(store, bytes(""), "B");
    next_of(store, bytes("B"), "a");
    next_of(store, bytes("a"), "aa");
    next_of(store, (struct iovec){zero, 2}, "aa");
    next_of(store, bytes("aa"), "b10");
    next_of(store, bytes("b10"), "b9");
    next_of(store, bytes("b9"), "\xc3\xa9");
    next_of(store, bytes("\xc3\xa9"), NULL);
    store_close(store);
}

static void a_delivery_is_undone_alone_and_a_crank_as_a_whole(void **state)
{
    struct store *store = open_store(NULL);

    (void)state;
    assert_int_equal(store_begin(store, &error), 0);
    set(store, "first", "1");
    assert_int_equal(store_mark(store, &error), 0);
    set(store, "second", "2");
    assert_int_equal(store_undo(store, &error), 0);
    has(store, VAT, "first", "1");
    has(store, VAT, "second", NULL);
    assert_int_equal(store_commit(store, &error), 0);
    has(store, VAT, "first", "1");
    assert_int_equal(store_begin(store, &error), 0);
    set(store, "first", "changed");
    store_rollback(store);
    store_rollback(store);
    has(store, VAT, "first", "1");
    store_close(store);
}

static void what_was_committed_is_there_again_and_only_that(void **state)
{
    struct store *store = open_store("s");
    struct store_vat vat;
    int64_t crank;

    (void)state;
    assert_int_equal(store_provide_vat(store, "bank", &vat, &error), 0);
    assert_int_equal(vat.id, 1);
    assert_int_equal(vat.delivery_next, 1);
    assert_int_equal(store_crank_next(store, &crank, &error), 0);
    assert_int_equal(crank, 0);
    assert_int_equal(store_begin(store, &error), 0);
    set(store, "kept", "1");
    assert_int_equal(store_count_delivery(store, vat.id, &error), 0);
    assert_int_equal(store_commit(store, &error), 0);
    assert_int_equal(store_begin(store, &error), 0);
    set(store, "lost", "1");
    assert_int_equal(store_count_delivery(store, vat.id, &error), 0);
    store_close(store);

    store = open_store("s");
    has(store, VAT, "kept", "1");
    has(store, VAT, "lost", NULL);
    assert_int_equal(store_provide_vat(store, "bank", &vat, &error), 0);
    assert_int_equal(vat.id, 1);
    assert_int_equal(vat.delivery_next, 2);
    assert_int_equal(store_provide_vat(store, "other", &vat, &error), 0);
    assert_int_equal(vat.id, 2);
    assert_int_equal(vat.delivery_next, 1);
    assert_int_equal(store_crank_next(store, &crank, &error), 0);
    assert_int_equal(crank, 1);
    store_close(store);
}

/* Opening is refused, as the fault of `kind`, with words that have these. */
static void refuses(enum error_kind kind, const char *words)
{
    assert_null(store_open("s", &error));
    assert_int_equal(error.kind, kind);
    if (strstr(error.text, words) == NULL)
        fail_msg("no '%s' in: %s", words, error.text);
}

static void a_store_in_use_is_refused_to_a_second(void **state)
{
    struct store *store = open_store("s");

    (void)state;
    refuses(ERROR_SYSTEM, "in use by another process");
    store_close(store);
    store_close(open_store("s"));
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
}

static void change_database(const char *statements)
{
    sqlite3 *database;

    assert_int_equal(sqlite3_open("s/gaspipe.sqlite", &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, statements, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static void a_file_of_others_is_refused_and_left_alone(void **state)
{
    static const char text[] = "These are the notes of somebody who has nothing to do with stores.";
    char found[sizeof text] = "";
    int fd;

    (void)state;
    store_close(open_store("s"));
    write_file("s/gaspipe.sqlite", text);
    refuses(ERROR_INPUT, "not a gaspipe store");
    fd = open("s/gaspipe.sqlite", O_RDONLY);
    assert_int_equal(read(fd, found, sizeof text), sizeof text - 1);
    assert_string_equal(found, text);
    close(fd);
}

static void a_database_of_others_and_a_later_format_are_refused(void **state)
{
    (void)state;
    store_close(open_store("s"));
    change_database("PRAGMA user_version=1000");
    refuses(ERROR_INPUT, "a store of format 1000");
    change_database("PRAGMA application_id=7");
    refuses(ERROR_INPUT, "an SQLite file of another program");
}

static void a_folder_that_cannot_be_made_is_told(void **state)
{
    (void)state;
    assert_null(store_open("missing/s", &error));
    assert_int_equal(error.kind, ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "missing/s"));
    write_file("s", "");
    assert_null(store_open("s", &error));
    assert_int_equal(error.kind, ERROR_SYSTEM);
    assert_int_equal(unlink("s"), 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_set_is_got_until_it_is_deleted),
        cmocka_unit_test(keys_and_values_hold_any_byte),
        cmocka_unit_test(keys_follow_in_the_order_of_their_bytes),
        cmocka_unit_test(a_delivery_is_undone_alone_and_a_crank_as_a_whole),
        IN_FOLDER(what_was_committed_is_there_again_and_only_that),
        IN_FOLDER(a_store_in_use_is_refused_to_a_second),
        IN_FOLDER(a_file_of_others_is_refused_and_left_alone),
        IN_FOLDER(a_database_of_others_and_a_later_format_are_refused),
        IN_FOLDER(a_folder_that_cannot_be_made_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
