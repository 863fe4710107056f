/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flipped bit in a store's database or mark is put back; two, or one in its write-ahead log, are
 * found, or change nothing of what is read. FLIP_STEP is the distance of the bytes that are tried;
 * 1 tries each byte of a store that was closed and of one whose writer was killed, in an hour.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "base/number.h"
#include "store/integrity/check.h"
#include "store/store.h"
#include "tests/unit/store/store_check.h"

enum { DEFAULT_STEP = 1499, BYTES_MAX = 8 << 20, VATS = 2, KEYS = 9, ITEMS = 6 };

static const char *const files[] = {"gaspipe.sqlite", "gaspipe.sqlite-wal", "gaspipe.mark"};

enum { FILES = sizeof files / sizeof *files, LOG = 1, MARK = 2 };

struct copy {
    struct buf files[FILES];
    struct timespec times[FILES][2];
    bool exists[FILES];
};

/* ---- a small store ---- */

static int snapshot_file(void)
{
    char name[] = "/tmp/gaspipe-snapshot.XXXXXX";
    const int fd = mkstemp(name);

    assert_true(fd >= 0 && unlink(name) == 0);
    for (int i = 0; i < 700; i++)
        assert_true(dprintf(fd, "%d of a worker's heap\n", i * i) > 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void write_vat(struct store *store, int64_t vat)
{
    char name[40], value[96];

    for (int i = 0; i < KEYS; i++) {
        snprintf(name, sizeof name, "v%lld.key%d", (long long)vat, i);
        snprintf(value, sizeof value, "the value of %s in its %d. form", name, i);
        OK(store_key_set(store, name, bytes(value), &error));
        OK(store_vat_set(store, vat, bytes(name), bytes(value), &error));
    }
    for (int i = 0; i < ITEMS; i++) {
        snprintf(value, sizeof value, "{\"d\":[\"notify\",%d],\"sc\":[]}", i);
        OK(store_transcript_add(store, vat, 0, i, bytes(value), &error));
    }
}

static void write_store(struct store *store)
{
    const int fd = snapshot_file();
    struct store_snapshot snapshot;

    for (int64_t vat = 1; vat <= VATS; vat++)
        write_vat(store, vat);
    OK(store_snapshot_put(store, 1, 0, 3, fd, &snapshot, &error));
    OK(store_bundle_put(store, "b1-x", bytes("{\"moduleFormat\":\"getExport\"}"), &error));
    OK(store_transaction_commit(store, &error));
    close(fd);
}

/* A store whose writer ends without closing it leaves its write-ahead log. */
static void make_store(bool killed)
{
    const pid_t child = fork();
    struct store *store;
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        store = store_open("s", &error);
        if (store == NULL || store_transaction_begin(store, &error) != 0)
            _exit(1);
        write_store(store);
        if (!killed)
            store_close(store);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- all that it answers ---- */

static int read_keys(struct store *store, struct buf *all)
{
    struct buf key = {0};
    bool found = true;
    int result;

    while ((result = store_key_next(store, "", key.length == 0 ? "" : buf_string(&key), &key,
                                    &found, &error)) == 0 &&
           found) {
        buf_printf(all, "%s=", buf_string(&key));
        if ((result = store_key_get(store, buf_string(&key), all, &found, &error)) != 0)
            break;
    }
    buf_free(&key);
    return result;
}

static int read_vat_store(struct store *store, int64_t vat, struct buf *all)
{
    struct buf key = {0}, next = {0};
    bool found = true;
    int result;

    for (;;) {
        const struct iovec at = {key.data, key.length};

        buf_clear(&next);
        result = store_vat_next_key(store, vat, at, &next, &found, &error);
        if (result != 0 || !found)
            break;
        buf_clear(&key);
        buf_append(&key, next.data, next.length);
        buf_append(all, key.data, key.length);
        result =
            store_vat_get(store, vat, (struct iovec){key.data, key.length}, all, &found, &error);
        if (result != 0)
            break;
    }
    buf_free(&key);
    buf_free(&next);
    return result;
}

static int read_transcript(struct store *store, int64_t vat, struct buf *all)
{
    int64_t first, end;
    bool found;
    int result = store_transcript_bounds(store, vat, 0, &first, &end, &error);

    buf_printf(all, "%lld to %lld", (long long)first, (long long)end);
    for (int64_t at = first; result == 0 && at < end; at++)
        result = store_transcript_get(store, vat, 0, at, all, &found, &error);
    return result;
}

static int read_snapshot(struct store *store, struct buf *all)
{
    const int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    struct store_snapshot snapshot;
    int64_t position;
    bool found;
    int result = store_snapshot_last(store, 1, 0, &position, &snapshot, &found, &error);

    if (result == 0 && found) {
        buf_printf(all, "%lld %s", (long long)position, snapshot.hash);
        result = store_snapshot_read(store, snapshot.hash, fd, &error);
    }
    close(fd);
    return result;
}

static int read_all(struct store *store, struct buf *all)
{
    bool found;

    if (read_keys(store, all) != 0 || read_snapshot(store, all) != 0 ||
        store_bundle_get(store, "b1-x", all, &found, &error) != 0)
        return -1;
    for (int64_t vat = 1; vat <= VATS; vat++)
        if (read_vat_store(store, vat, all) != 0 || read_transcript(store, vat, all) != 0)
            return -1;
    return 0;
}

/* As a run and as `status` opens it. 0: it answered. */
static int ask(bool reader, struct buf *all)
{
    struct store *store = reader ? store_open_reader("s", &error) : store_open("s", &error);
    int result = store != NULL ? 0 : -1;

    buf_clear(all);
    if (result == 0 && reader)
        result = store_require_usable(store, &error);
    if (result == 0)
        result = read_all(store, all);
    store_close(store);
    return result;
}

/* ---- copies ---- */

static void take_copy(struct copy *copy)
{
    for (int i = 0; i < FILES; i++) {
        char path[64];
        struct stat status;

        snprintf(path, sizeof path, "s/%s", files[i]);
        copy->exists[i] = stat(path, &status) == 0;
        if (!copy->exists[i])
            continue;
        copy->times[i][0] = status.st_atim;
        copy->times[i][1] = status.st_mtim;
        OK(io_read_file(path, BYTES_MAX, &copy->files[i], &error));
    }
}

/* `silent`: with the times that the files had, as a disk flips bits. */
static void put_copy(const struct copy *copy, bool silent)
{
    unlink("s/gaspipe.sqlite-shm");
    for (int i = 0; i < FILES; i++) {
        char path[64];
        int fd;

        snprintf(path, sizeof path, "s/%s", files[i]);
        if (!copy->exists[i]) {
            unlink(path);
            continue;
        }
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        assert_true(fd >= 0);
        assert_int_equal(io_write_all(fd, copy->files[i].data, copy->files[i].length), 0);
        if (silent)
            assert_int_equal(futimens(fd, copy->times[i]), 0);
        close(fd);
    }
}

/* ---- the flips ---- */

/* The mark is short. */
static size_t step(int file)
{
    const char *text = getenv("FLIP_STEP");
    uint64_t number;

    if (file == MARK)
        return 7;
    return text != NULL && number_read(text, 1000000, &number) && number > 0 ? (size_t)number
                                                                             : DEFAULT_STEP;
}

struct outcome {
    size_t found, harmless, lies;
};

static void report_changed_answer(size_t turn, const char *file, size_t place,
                                  struct outcome *outcome)
{
    outcome->lies++;
    print_message("bit %zu of byte %zu of %s changes an answer (%s, asked by %s)\n", turn % 8,
                  place, file, turn / 8 % 2 == 0 ? "silently" : "with the file's time",
                  turn / 16 % 2 == 0 ? "status" : "a run");
}

static void flip_bits(char *bytes, size_t place, size_t other, size_t bit)
{
    bytes[place] = (char)(bytes[place] ^ 1 << bit);
    if (other != place)
        bytes[other] = (char)(bytes[other] ^ 1 << bit);
}

/* Every other time, two bits. */
static void flip(struct copy *copy, int file, size_t place, const struct buf *expected,
                 struct outcome *outcome)
{
    /* Each bit and each way of asking comes about as often as the others. */
    const size_t turn = place / step(file) + place;
    char *bytes = copy->files[file].data;
    const size_t other = place ^ (turn % 2 == 0 ? 0 : 1);
    struct buf all = {0};

    flip_bits(bytes, place, other, turn % 8);
    put_copy(copy, turn / 8 % 2 == 0);
    if (ask(turn / 16 % 2 == 0, &all) != 0)
        outcome->found++;
    else if (all.length == expected->length && memcmp(all.data, expected->data, all.length) == 0)
        outcome->harmless++;
    else
        report_changed_answer(turn, files[file], place, outcome);
    if (other == place && file != LOG && all.length != expected->length) {
        print_message("byte %zu of %s is not put back: %s\n", place, files[file], error.text);
        outcome->lies++;
    }
    flip_bits(bytes, place, other, turn % 8);
    buf_free(&all);
}

static void flip_all(bool killed)
{
    struct copy copy = {0};
    struct buf expected = {0};

    make_store(killed);
    take_copy(&copy);
    assert_int_equal(copy.exists[1], killed);
    put_copy(&copy, true);
    if (ask(false, &expected) != 0)
        fail_msg("%s", error.text);
    for (int file = 0; file < FILES; file++) {
        struct outcome outcome = {0};

        for (size_t place = 0; place < copy.files[file].length; place += step(file))
            flip(&copy, file, place, &expected, &outcome);
        print_message("%s %s: of %zu bytes %zu found, %zu changed nothing\n",
                      killed ? "killed" : "closed", files[file], copy.files[file].length,
                      outcome.found, outcome.harmless);
        assert_int_equal(outcome.lies, 0);
        assert_true(file != LOG || !killed || outcome.found > 0);
    }
    for (int file = 0; file < FILES; file++)
        buf_free(&copy.files[file]);
    buf_free(&expected);
}

static void in_a_store_that_was_closed(void **state)
{
    (void)state;
    flip_all(false);
}

static void in_a_store_whose_writer_was_killed(void **state)
{
    (void)state;
    flip_all(true);
}

/* A directory of each test's own, which is the working directory meanwhile. Lines of the log that
 * say what was mended are not wanted. */
static int enter_directory(void **state)
{
    char name[] = "/tmp/gaspipe-flips.XXXXXX";
    const int nothing = open("/dev/null", O_WRONLY);

    assert_true(nothing >= 0 && dup2(nothing, STDERR_FILENO) == STDERR_FILENO);
    close(nothing);
    assert_non_null(mkdtemp(name));
    *state = strdup(name);
    return *state == NULL ? -1 : chdir(name);
}

static int leave_directory(void **state)
{
    int result;

    unlink("s/gaspipe.sqlite-shm");
    for (int i = 0; i < FILES; i++) {
        char path[64];

        snprintf(path, sizeof path, "s/%s", files[i]);
        unlink(path);
    }
    rmdir("s");
    result = chdir("/") != 0 || rmdir(*state) != 0;
    free(*state);
    return result;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(in_a_store_that_was_closed, enter_directory,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(in_a_store_whose_writer_was_killed, enter_directory,
                                        leave_directory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
