/* SPDX-License-Identifier: Apache-2.0 */
/* What a snapshot is written with: into pipes by copies and by pages, and into files. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "worker/xs/snapshot/snapshot_writer.h"

enum { SIZE = 9 << 20, MEBIBYTE = 1 << 20, PAGE = 4096 };

static unsigned char written[SIZE], come[SIZE + PAGE];

static int fill(void **state)
{
    uint32_t number = 1;

    (void)state;
    for (size_t i = 0; i < sizeof written; i++) {
        number = number * 1664525 + 1013904223;
        written[i] = (unsigned char)(number >> 24);
    }
    return 0;
}

/* Small ones, as slots are, and some that take several blocks. */
static size_t piece_size(size_t at)
{
    static const size_t sizes[] = {32, 4, 8, 100, 32, 70000, 32, 1, 262144, 32, 700001, 32};

    return sizes[at % (sizeof sizes / sizeof *sizes)];
}

static void write_snapshot(int fd, bool splices, bool *spliced)
{
    struct snapshot_writer writer;
    size_t at = 0;

    snapshot_writer_begin(&writer, fd, splices);
    *spliced = writer.splices;
    for (size_t i = 0; at < SIZE; i++) {
        size_t size = piece_size(i);

        if (size > SIZE - at)
            size = SIZE - at;
        assert_int_equal(snapshot_writer_write(&writer, written + at, size), 0);
        at += size;
    }
    assert_int_equal(snapshot_writer_end(&writer), 0);
    assert_int_equal(writer.size, SIZE);
}

/* A pipe, and who reads it as late as can be: a page, once it is full. */
struct late_reader {
    int fd, pipe_size;
    atomic_bool written; /* it will not be full again */
    size_t length;       /* of what is in `come` */
};

static void wait_until_full(struct late_reader *reader)
{
    int there = 0;

    while (!atomic_load(&reader->written) && ioctl(reader->fd, FIONREAD, &there) == 0 &&
           there < reader->pipe_size)
        (void)sched_yield();
}

static void *read_all(void *context)
{
    struct late_reader *reader = context;
    ssize_t got;

    do {
        wait_until_full(reader);
        got = read(reader->fd, come + reader->length, PAGE);
        reader->length += got > 0 ? (size_t)got : 0;
    } while (got > 0 && reader->length <= SIZE);
    return NULL;
}

/* Through a pipe of that size. Whether its pages were spliced. */
static bool write_through_pipe(int pipe_size, bool splices)
{
    struct late_reader reader = {.pipe_size = pipe_size};
    pthread_t thread;
    bool spliced;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    if (fcntl(ends[1], F_SETPIPE_SZ, pipe_size) != pipe_size)
        skip(); /* this user may not have such a pipe */
    reader.fd = ends[0];
    assert_int_equal(pthread_create(&thread, NULL, read_all, &reader), 0);
    write_snapshot(ends[1], splices, &spliced);
    atomic_store(&reader.written, true);
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(reader.length, SIZE);
    assert_memory_equal(come, written, SIZE);
    return spliced;
}

static void a_pipe_gets_copies(void **state)
{
    (void)state;
    assert_false(write_through_pipe(MEBIBYTE, false));
}

static void a_pipe_gets_pages_which_are_written_to_again_only_behind_it(void **state)
{
    (void)state;
    assert_true(write_through_pipe(MEBIBYTE, true));
    assert_true(write_through_pipe(MEBIBYTE / 4, true));
}

static void a_pipe_that_holds_more_than_the_blocks_gets_copies(void **state)
{
    (void)state;
    assert_false(write_through_pipe(2 * MEBIBYTE, true));
}

static void a_file_gets_copies(void **state)
{
    const int fd = memfd_create("snapshot", MFD_CLOEXEC);
    bool spliced;

    (void)state;
    assert_true(fd >= 0);
    write_snapshot(fd, true, &spliced);
    assert_false(spliced);
    assert_int_equal(pread(fd, come, sizeof come, 0), SIZE);
    assert_memory_equal(come, written, SIZE);
    assert_int_equal(close(fd), 0);
}

static void a_pipe_without_a_reader_is_an_error(void **state)
{
    struct snapshot_writer writer;
    int ends[2];

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    for (int splices = 0; splices < 2; splices++) {
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(close(ends[0]), 0);
        snapshot_writer_begin(&writer, ends[1], splices != 0);
        assert_int_equal(snapshot_writer_write(&writer, written, SIZE), EPIPE);
        assert_int_equal(close(ends[1]), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_gets_copies),
        cmocka_unit_test(a_pipe_gets_pages_which_are_written_to_again_only_behind_it),
        cmocka_unit_test(a_pipe_that_holds_more_than_the_blocks_gets_copies),
        cmocka_unit_test(a_file_gets_copies),
        cmocka_unit_test(a_pipe_without_a_reader_is_an_error),
    };

    return cmocka_run_group_tests(tests, fill, NULL);
}
