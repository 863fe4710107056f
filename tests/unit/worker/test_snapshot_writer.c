/* SPDX-License-Identifier: Apache-2.0 */
/* Writes snapshots to pipes and files. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "worker/xs/snapshot_writer.h"

enum { SIZE = 9 << 20 };

static unsigned char written[SIZE], come[SIZE + 1];

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

static void write_snapshot(int fd)
{
    struct snapshot_writer writer;
    size_t at = 0;

    snapshot_writer_begin(&writer, fd);
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

static void *read_all(void *context)
{
    const int *fd = context;
    size_t length = 0;
    ssize_t got;

    while ((got = read(*fd, come + length, sizeof come - length)) > 0)
        length += (size_t)got;
    assert_int_equal(length, SIZE);
    return NULL;
}

static void a_pipe_gets_all_of_it(void **state)
{
    pthread_t thread;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pthread_create(&thread, NULL, read_all, &ends[0]), 0);
    write_snapshot(ends[1]);
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(close(ends[0]), 0);
    assert_memory_equal(come, written, SIZE);
}

static void a_file_gets_all_of_it(void **state)
{
    const int fd = memfd_create("snapshot", MFD_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    memset(come, 0, sizeof come);
    write_snapshot(fd);
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
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(close(ends[0]), 0);
    snapshot_writer_begin(&writer, ends[1]);
    assert_int_equal(snapshot_writer_write(&writer, written, SIZE), EPIPE);
    assert_int_equal(close(ends[1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_gets_all_of_it),
        cmocka_unit_test(a_file_gets_all_of_it),
        cmocka_unit_test(a_pipe_without_a_reader_is_an_error),
    };

    return cmocka_run_group_tests(tests, fill, NULL);
}
