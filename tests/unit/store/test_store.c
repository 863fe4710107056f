/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/integrity/page_vfs.h"
#include "store/store.h"
#include "store/store_internal.h"
#include "tests/unit/store/store_check.h"

enum { VAT = 1 };

/* A directory of each test's own, which is the working directory meanwhile. */
static int enter_directory(void **state)
{
    char name[] = "/tmp/gaspipe-store.XXXXXX";

    assert_non_null(mkdtemp(name));
    *state = strdup(name);
    return *state == NULL ? -1 : chdir(name);
}

static int leave_directory(void **state)
{
    int result;

    unlink("s/gaspipe.sqlite");
    unlink("s/gaspipe.sqlite-wal");
    unlink("s/gaspipe.sqlite-shm");
    unlink("s/gaspipe.mark");
    rmdir("s");
    result = chdir("/") != 0 || rmdir(*state) != 0;
    free(*state);
    return result;
}

static struct store *open_store(const char *directory)
{
    struct store *store = store_open(directory, &error);

    if (store == NULL)
        fail_msg("%s", error.text);
    return store;
}

/* Sets a key of the kernel and one of the vat's. */
static void set(struct store *store, const char *key, const char *value)
{
    OK(store_key_set(store, key, bytes(value), &error));
    OK(store_vat_set(store, VAT, bytes(key), bytes(value), &error));
}

/* Both have this value; NULL: absent. */
static void has(struct store *store, const char *key, const char *expected)
{
    struct buf value = {0};
    bool found;

    OK(store_key_get(store, key, &value, &found, &error));
    same(&value, found, expected);
    OK(store_vat_get(store, VAT, bytes(key), &value, &found, &error));
    same(&value, found, expected);
}

static void a_savepoint_is_undone_alone_and_a_transaction_as_a_whole(void **state)
{
    struct store *store = open_store(NULL);

    (void)state;
    OK(store_transaction_begin(store, &error));
    OK(store_transaction_begin(store, &error));
    set(store, "first", "1");
    OK(store_savepoint_set(store, &error));
    set(store, "second", "2");
    OK(store_savepoint_undo(store, &error));
    has(store, "first", "1");
    has(store, "second", NULL);
    OK(store_transaction_commit(store, &error));
    has(store, "first", "1");
    OK(store_transaction_begin(store, &error));
    set(store, "first", "changed");
    has(store, "first", "changed");
    store_transaction_rollback(store);
    store_transaction_rollback(store);
    has(store, "first", "1");
    store_close(store);
}

static void savepoints_nest(void **state)
{
    struct store *store = open_store(NULL);

    (void)state;
    set(store, "a", "0");
    OK(store_savepoint_set(store, &error));
    set(store, "a", "1");
    OK(store_savepoint_set(store, &error));
    set(store, "a", "2");
    set(store, "b", "2");
    OK(store_savepoint_undo(store, &error));
    has(store, "a", "1");
    has(store, "b", NULL);
    OK(store_savepoint_set(store, &error));
    set(store, "b", "3");
    OK(store_savepoint_release(store, &error));
    has(store, "b", "3");
    OK(store_savepoint_undo(store, &error));
    has(store, "a", "0");
    has(store, "b", NULL);
    OK(store_transaction_commit(store, &error));
    has(store, "a", "0");
    store_close(store);
}

static void undo_restores_deleted_keys(void **state)
{
    struct store *store = open_store(NULL);

    (void)state;
    set(store, "a", "0");
    OK(store_savepoint_set(store, &error));
    OK(store_key_delete(store, "a", &error));
    OK(store_vat_delete(store, VAT, bytes("a"), &error));
    has(store, "a", NULL);
    OK(store_savepoint_undo(store, &error));
    has(store, "a", "0");
    OK(store_savepoint_set(store, &error));
    OK(store_key_delete(store, "a", &error));
    OK(store_vat_delete_all(store, VAT, &error));
    OK(store_savepoint_release(store, &error));
    has(store, "a", NULL);
    store_close(store);
}

static void savepoints_that_do_not_match_are_refused(void **state)
{
    struct store *store = open_store(NULL);

    (void)state;
    assert_int_equal(store_savepoint_undo(store, &error), -1);
    assert_int_equal(store_savepoint_release(store, &error), -1);
    OK(store_savepoint_set(store, &error));
    assert_int_equal(store_transaction_commit(store, &error), -1);
    store_transaction_rollback(store);
    assert_int_equal(store_savepoint_undo(store, &error), -1);
    OK(store_savepoint_set(store, &error));
    OK(store_savepoint_release(store, &error));
    OK(store_transaction_commit(store, &error));
    store_close(store);
}

/* Random changes, savepoints and their ends, compared with a model. */
enum { MODEL_KEYS = 8, MODEL_DEPTH = 6, MODEL_STEPS = 20000 };

struct model {
    int values[MODEL_DEPTH + 1][MODEL_KEYS]; /* by depth; 0: none */
    int depth;
    unsigned int random;
};

static unsigned int next_random(struct model *model, unsigned int below)
{
    model->random = model->random * 1103515245 + 12345;
    return (model->random >> 16) % below;
}

static void model_key(char key[8], unsigned int number)
{
    snprintf(key, 8, "k%u", number);
}

static void model_change(struct model *model, struct store *store)
{
    unsigned int which = next_random(model, MODEL_KEYS);
    int value = (int)next_random(model, 4);
    char key[8], text[16];

    model_key(key, which);
    snprintf(text, sizeof text, "%d", value);
    model->values[model->depth][which] = value;
    if (value != 0)
        OK(store_key_set(store, key, bytes(text), &error));
    else
        OK(store_key_delete(store, key, &error));
}

static void model_check(struct model *model, struct store *store)
{
    unsigned int which = next_random(model, MODEL_KEYS);
    int expected = model->values[model->depth][which];
    struct buf value = {0};
    char key[8], text[16];
    bool found;

    model_key(key, which);
    snprintf(text, sizeof text, "%d", expected);
    OK(store_key_get(store, key, &value, &found, &error));
    same(&value, found, expected == 0 ? NULL : text);
}

static void model_end(struct model *model, struct store *store, bool keep)
{
    if (keep) {
        memcpy(model->values[model->depth - 1], model->values[model->depth],
               sizeof model->values[0]);
        OK(store_savepoint_release(store, &error));
    } else {
        OK(store_savepoint_undo(store, &error));
    }
    model->depth--;
}

static void model_step(struct model *model, struct store *store)
{
    switch (next_random(model, 8)) {
    case 0:
        if (model->depth == MODEL_DEPTH)
            break;
        OK(store_savepoint_set(store, &error));
        memcpy(model->values[model->depth + 1], model->values[model->depth],
               sizeof model->values[0]);
        model->depth++;
        break;
    case 1:
        if (model->depth > 0)
            model_end(model, store, next_random(model, 2) == 0);
        break;
    case 2:
    case 3:
    case 4:
        model_check(model, store);
        break;
    default:
        model_change(model, store);
    }
}

static void the_cache_of_keys_is_never_wrong(void **state)
{
    struct model model = {.random = 1};
    struct store *store = open_store(NULL);

    (void)state;
    OK(store_transaction_begin(store, &error));
    for (int i = 0; i < MODEL_STEPS; i++)
        model_step(&model, store);
    while (model.depth > 0)
        model_end(&model, store, true);
    OK(store_transaction_commit(store, &error));
    for (int i = 0; i < 4 * MODEL_KEYS; i++)
        model_check(&model, store);
    store_close(store);
}

/* ---- what outlives a process ---- */

static void reopening_finds_only_committed_state(void **state)
{
    struct store *store = open_store("s");

    (void)state;
    OK(store_transaction_begin(store, &error));
    set(store, "kept", "1");
    OK(store_transaction_commit(store, &error));
    OK(store_transaction_begin(store, &error));
    set(store, "lost", "1");
    OK(store_savepoint_set(store, &error));
    set(store, "kept", "2");
    store_close(store);

    store = open_store("s");
    has(store, "kept", "1");
    has(store, "lost", NULL);
    store_close(store);
}

/* Blocks of two keys that always agree, until it is killed; says each that is done. */
static void commit_for_ever(int said)
{
    struct store *store = open_store("s");
    char text[16];

    for (int i = 1;; i++) {
        int length = snprintf(text, sizeof text, "%d", i);

        OK(store_savepoint_set(store, &error));
        OK(store_key_set(store, "first", bytes(text), &error));
        OK(store_vat_set(store, VAT, bytes("second"), bytes(text), &error));
        OK(store_transcript_add(store, VAT, 0, i, bytes(text), &error));
        OK(store_savepoint_release(store, &error));
        OK(store_transaction_commit(store, &error));
        assert_int_equal(write(said, text, (size_t)length + 1), length + 1);
    }
}

static long number_of(const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);

    assert_true(end > text && *end == '\0');
    return number;
}

/* Kills it when `bytes_said` or more have come; the number said last. */
static long kill_after(size_t bytes_said)
{
    char said[4096] = "", *last = said;
    size_t count = 0;
    int ends[2], status;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        commit_for_ever(ends[1]);
    close(ends[1]);
    for (ssize_t got = 0; count < sizeof said; count += (size_t)got) {
        got = read(ends[0], said + count, sizeof said - count);
        assert_true(got >= 0);
        if (got == 0)
            break;
        if (count + (size_t)got >= bytes_said)
            assert_int_equal(kill(child, SIGKILL), 0);
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    for (size_t i = 1; i < count; i++)
        if (said[i - 1] == '\0')
            last = said + i;
    return number_of(last);
}

static void a_killed_process_leaves_whole_transactions(void **state)
{
    (void)state;
    for (size_t length = 3; length < 200; length += 37) {
        long said = kill_after(length);
        struct store *store = open_store("s");
        struct buf first = {0};
        int64_t from, end;
        char text[16];
        bool found;

        OK(store_key_get(store, "first", &first, &found, &error));
        assert_true(found);
        snprintf(text, sizeof text, "%s", buf_string(&first));
        /* The transaction after the last reported one may be done, and no other. */
        assert_in_range(number_of(text), said, said + 1);
        buf_free(&first);
        OK(store_vat_get(store, VAT, bytes("second"), &first, &found, &error));
        same(&first, found, text);
        OK(store_transcript_bounds(store, VAT, 0, &from, &end, &error));
        assert_int_equal(end, number_of(text) + 1);
        OK(store_transcript_delete_all(store, VAT, &error));
        store_close(store);
    }
}

/* ---- opening ---- */

static void a_reader_sees_what_was_committed_while_it_is_written(void **state)
{
    struct store *store = open_store("s");
    struct store *reader;

    (void)state;
    set(store, "a", "1");
    reader = store_open_reader("s", &error);
    if (reader == NULL)
        fail_msg("%s", error.text);
    OK(store_savepoint_set(store, &error));
    set(store, "a", "2");
    has(reader, "a", "1");
    OK(store_savepoint_release(store, &error));
    OK(store_transaction_commit(store, &error));
    assert_int_equal(store_key_set(reader, "a", bytes("3"), &error), -1);
    has(reader, "a", "2");
    OK(store_transaction_begin(reader, &error));
    assert_int_equal(store_key_set(reader, "a", bytes("3"), &error), -1);
    has(reader, "a", "2");
    set(store, "a", "3");
    has(reader, "a", "2");
    OK(store_transaction_commit(reader, &error));
    has(reader, "a", "3");
    store_close(store);
    has(reader, "a", "3");
    store_close(reader);
    store = open_store("s");
    has(store, "a", "3");
    store_close(store);
}

static void a_reader_makes_no_store(void **state)
{
    (void)state;
    assert_null(store_open_reader("s", &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_non_null(strstr(error.text, "no such store"));
    assert_int_equal(access("s", F_OK), -1);
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
    char words[64];

    (void)state;
    snprintf(words, sizeof words, "the store is in use by process %ld", (long)getpid());
    refuses(ERROR_SYSTEM, words);
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

    assert_int_equal(
        sqlite3_open_v2("s/gaspipe.sqlite", &database, SQLITE_OPEN_READWRITE, PAGE_VFS_NAME),
        SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, statements, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static void a_file_of_others_is_refused_and_left_alone(void **state)
{
    static const char text[] = "These are the notes of a user who has nothing to do with stores.";
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
    change_database("PRAGMA user_version=1");
    refuses(ERROR_INPUT, "a store of format 1;");
    change_database("PRAGMA application_id=7");
    refuses(ERROR_INPUT, "an SQLite file of another program, or its first page is damaged");
}

static void put_snapshot(struct store_snapshot *snapshot)
{
    struct store *store = open_store("s");
    int fd = open("s/gaspipe.sqlite", O_RDONLY);

    assert_true(fd >= 0);
    OK(store_snapshot_put(store, VAT, 0, 0, fd, snapshot, &error));
    close(fd);
    store_close(store);
}

/* The store's snapshot is refused with these words. */
static void refuses_snapshot(const char *hash, const char *words)
{
    struct store *store = open_store("s");
    int fd = open("/dev/null", O_WRONLY);

    assert_int_equal(store_snapshot_read(store, hash, fd, &error), -1);
    assert_int_equal(error.kind, ERROR_SYSTEM);
    if (strstr(error.text, words) == NULL)
        fail_msg("no '%s' in: %s", words, error.text);
    close(fd);
    store_close(store);
}

static void a_damaged_snapshot_is_refused(void **state)
{
    struct store_snapshot snapshot;

    (void)state;
    store_close(open_store("s"));
    put_snapshot(&snapshot);
    change_database("UPDATE snapshot_content SET hash = replace(hash, substr(hash, 1, 4), '0000')");
    memcpy(snapshot.hash, "0000", 4);
    refuses_snapshot(snapshot.hash, "it is damaged: its SHA-256 is ");
    change_database("UPDATE snapshot_content SET bytes = substr(bytes, 1, length(bytes) - 3)");
    refuses_snapshot(snapshot.hash, "it is damaged: its end is missing");
    change_database("UPDATE snapshot_content SET bytes = x'0123456789'");
    refuses_snapshot(snapshot.hash, "it is damaged: ");
}

static void directory_creation_reports_errors(void **state)
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

/* More than SQLite keeps in memory, which it writes to its log before the commit, and again. */
static void a_large_commit_is_whole(void **state)
{
    enum { VALUES = 24, VALUE_SIZE = 1 << 20 };
    struct store *store = open_store("s"), *reader;
    char *large = malloc(VALUE_SIZE + 1), key[16];

    (void)state;
    assert_non_null(large);
    large[VALUE_SIZE] = '\0';
    OK(store_transaction_begin(store, &error));
    for (int i = 0; i < VALUES * 3 / 2; i++) {
        memset(large, i < VALUES ? 'a' : 'b', VALUE_SIZE);
        snprintf(key, sizeof key, "k%d", i % VALUES);
        set(store, key, large);
    }
    OK(store_transaction_commit(store, &error));
    reader = store_open_reader("s", &error);
    assert_non_null(reader);
    for (int i = 0; i < VALUES; i++) {
        memset(large, i < VALUES / 2 ? 'b' : 'a', VALUE_SIZE);
        snprintf(key, sizeof key, "k%d", i);
        has(reader, key, large);
    }
    store_close(reader);
    free(large);
    store_close(store);
}

/* Pages that SQLite has read so far. */
static int pages_read(const struct store *store)
{
    int misses, most;

    assert_int_equal(
        sqlite3_db_status(store->database, SQLITE_DBSTATUS_CACHE_MISS, &misses, &most, 0),
        SQLITE_OK);
    return misses;
}

static void looking_next_to_a_large_row_does_not_read_it(void **state)
{
    enum { SIZE = 16 << 20, LOOKS = 20, PAGE = 4096 };
    struct store *store = open_store("s");
    struct buf value = {0};
    char *large = calloc(1, SIZE), key[32];
    bool found;
    int before;

    (void)state;
    assert_non_null(large);
    OK(store_transaction_begin(store, &error));
    OK(store_vat_set(store, VAT, bytes("b"), (struct iovec){large, SIZE}, &error));
    OK(store_transaction_commit(store, &error));
    before = pages_read(store);
    for (int i = 0; i < LOOKS; i++) {
        snprintf(key, sizeof key, "b%d", i);
        OK(store_vat_get(store, VAT, bytes(key), &value, &found, &error));
        assert_false(found);
    }
    assert_true(pages_read(store) - before < SIZE / PAGE);
    buf_free(&value);
    free(large);
    store_close(store);
}

/* ---- commits that another thread writes ---- */

struct writing {
    pthread_t thread;
    struct store *store;
    int result;
    struct error error;
};

static void *write_commit(void *argument)
{
    struct writing *writing = argument;

    writing->result = store_commit_write(writing->store, &writing->error);
    return NULL;
}

static void begin_writing(struct writing *writing, struct store *store)
{
    *writing = (struct writing){.store = store};
    assert_int_equal(pthread_create(&writing->thread, NULL, write_commit, writing), 0);
}

static int end_writing(struct writing *writing)
{
    assert_int_equal(pthread_join(writing->thread, NULL), 0);
    return writing->result;
}

static void key_has(struct store *store, const char *key, const char *expected)
{
    struct buf value = {0};
    bool found;

    OK(store_key_get(store, key, &value, &found, &error));
    same(&value, found, expected);
}

/* Checks the committed value. */
static void committed_has(const char *expected)
{
    struct store *reader = store_open_reader("s", &error);

    assert_non_null(reader);
    has(reader, "a", expected);
    store_close(reader);
}

static void keys_change_before_another_thread_has_written_the_commit(void **state)
{
    struct store *store = open_store("s");
    struct writing writing;

    (void)state;
    set(store, "a", "0");
    OK(store_transaction_begin(store, &error));
    set(store, "a", "1");
    OK(store_transaction_hand_over(store, &error));
    OK(store_savepoint_set(store, &error));
    OK(store_key_set(store, "a", bytes("2"), &error));
    OK(store_savepoint_undo(store, &error));
    key_has(store, "a", "1");
    OK(store_savepoint_set(store, &error));
    OK(store_key_set(store, "a", bytes("3"), &error));
    OK(store_vat_set(store, VAT, bytes("a"), bytes("3"), &error));
    committed_has("0");
    begin_writing(&writing, store);
    OK(store_vat_set(store, VAT, bytes("b"), bytes("3"), &error)); /* asks the file: waits for it */
    committed_has("1");
    OK(store_savepoint_release(store, &error));
    OK(end_writing(&writing));
    has(store, "a", "3");
    OK(store_transaction_commit(store, &error));
    committed_has("3");
    store_close(store);
}

static void a_commit_of_keys_alone_can_be_handed_over(void **state)
{
    struct store *store = open_store("s");
    struct writing writing;

    (void)state;
    set(store, "a", "1");
    for (int i = 0; i < 2; i++) { /* the second changes nothing */
        OK(store_transaction_begin(store, &error));
        OK(store_key_set(store, "b", bytes("1"), &error));
        OK(store_transaction_hand_over(store, &error));
        begin_writing(&writing, store);
        OK(end_writing(&writing));
    }
    store_close(store);
    store = open_store("s");
    key_has(store, "b", "1");
    store_close(store);
}

static void limit_file_size(rlim_t limit)
{
    struct rlimit limits;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limits), 0);
    limits.rlim_cur = limit == RLIM_INFINITY ? limits.rlim_max : limit;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limits), 0);
}

static void failed_commit_stops_the_run(void **state)
{
    struct store *store = open_store("s");
    struct writing writing;

    (void)state;
    set(store, "a", "1");
    OK(store_transaction_begin(store, &error));
    set(store, "a", "2");
    OK(store_transaction_hand_over(store, &error));
    OK(store_transaction_begin(store, &error));
    OK(store_key_set(store, "a", bytes("3"), &error));
    signal(SIGXFSZ, SIG_IGN);
    limit_file_size(1);
    begin_writing(&writing, store);
    assert_int_equal(end_writing(&writing), -1);
    limit_file_size(RLIM_INFINITY);
    /* A value that must be read from the file: */
    assert_int_equal(store_vat_set(store, VAT, bytes("b"), bytes("3"), &error), -1);
    assert_string_equal(error.text, writing.error.text);
    OK(store_vat_set(store, VAT, bytes("a"), bytes("3"), &error));
    assert_int_equal(store_transaction_commit(store, &error), -1);
    committed_has("1");
    store_transaction_rollback(store);
    has(store, "a", "1");
    set(store, "a", "4");
    store_close(store);
    committed_has("4");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_directory, leave_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_savepoint_is_undone_alone_and_a_transaction_as_a_whole),
        cmocka_unit_test(savepoints_nest),
        cmocka_unit_test(undo_restores_deleted_keys),
        cmocka_unit_test(savepoints_that_do_not_match_are_refused),
        cmocka_unit_test(the_cache_of_keys_is_never_wrong),
        IN_FOLDER(reopening_finds_only_committed_state),
        IN_FOLDER(a_killed_process_leaves_whole_transactions),
        IN_FOLDER(a_reader_sees_what_was_committed_while_it_is_written),
        IN_FOLDER(a_reader_makes_no_store),
        IN_FOLDER(a_store_in_use_is_refused_to_a_second),
        IN_FOLDER(a_file_of_others_is_refused_and_left_alone),
        IN_FOLDER(a_database_of_others_and_a_later_format_are_refused),
        IN_FOLDER(a_damaged_snapshot_is_refused),
        IN_FOLDER(directory_creation_reports_errors),
        IN_FOLDER(a_large_commit_is_whole),
        IN_FOLDER(keys_change_before_another_thread_has_written_the_commit),
        IN_FOLDER(a_commit_of_keys_alone_can_be_handed_over),
        IN_FOLDER(failed_commit_stops_the_run),
        IN_FOLDER(looking_next_to_a_large_row_does_not_read_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
