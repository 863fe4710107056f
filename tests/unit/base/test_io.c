/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"

enum { MUCH = 1 << 20, LIMIT = 64 };

/* A directory of each test's own, which is the working directory meanwhile. */
static int enter_directory(void **state)
{
    char name[] = "/tmp/gaspipe-io.XXXXXX";

    assert_non_null(mkdtemp(name));
    *state = strdup(name);
    return *state == NULL ? -1 : chdir(name);
}

static int leave_directory(void **state)
{
    int result;

    unlink("file");
    result = chdir("/") != 0 || rmdir(*state) != 0;
    free(*state);
    return result;
}

static void make_file(size_t length)
{
    int fd = open("file", O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(close(fd), 0);
}

static void on_alarm(int signal)
{
    (void)signal;
}

/* The reading end of a pipe, and what came out of it until its end. */
struct drain {
    int fd;
    pthread_t writer; /* to be interrupted */
    struct buf content;
};

static void *drain_slowly(void *argument)
{
    struct drain *drain = argument;
    char piece[777];
    ssize_t got;

    while ((got = read(drain->fd, piece, sizeof piece)) > 0) {
        buf_append(&drain->content, piece, (size_t)got);
        pthread_kill(drain->writer, SIGUSR1);
    }
    return NULL;
}

/* A pipe holds 64 KiB, so writes are short; the reader interrupts them as well. */
static void pieces_arrive_whole_through_a_full_and_interrupted_pipe(void **state)
{
    struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART */
    static char much[MUCH];
    struct iovec pieces[] = {{(char *)"head", 4}, {much, MUCH}, {NULL, 0}, {(char *)"tail", 4}};
    struct drain drain = {.writer = pthread_self()};
    pthread_t thread;
    int ends[2];

    (void)state;
    for (size_t i = 0; i < MUCH; i++)
        much[i] = (char)(i * 7);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(pipe(ends), 0);
    drain.fd = ends[0];
    assert_int_equal(pthread_create(&thread, NULL, drain_slowly, &drain), 0);
    assert_int_equal(io_writev_all(ends[1], pieces, 4), 0);
    close(ends[1]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(drain.content.length, MUCH + 8);
    assert_memory_equal(drain.content.data, "head", 4);
    assert_memory_equal(drain.content.data + 4, much, MUCH);
    assert_memory_equal(drain.content.data + 4 + MUCH, "tail", 4);
    close(ends[0]);
    buf_free(&drain.content);
}

static void write_reports_errors(void **state)
{
    int fd = open("/dev/full", O_WRONLY);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, "x", 1), -1);
    assert_int_equal(errno, ENOSPC);
    close(fd);
}

static void a_file_is_appended_to_what_is_there(void **state)
{
    struct buf content = {0};
    struct error error;

    (void)state;
    make_file(LIMIT);
    buf_append_string(&content, "before");
    assert_int_equal(io_read_file("file", LIMIT, &content, &error), 0);
    assert_int_equal(content.length, 6 + LIMIT);
    assert_memory_equal(content.data, "beforexx", 8);
    buf_free(&content);
}

/* Each refusal names the file and is the input's fault. */
static void refuses(const char *path, const char *words)
{
    struct buf content = {0};
    struct error error;

    assert_int_equal(io_read_file(path, LIMIT, &content, &error), -1);
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_memory_equal(error.text, path, strlen(path));
    assert_non_null(strstr(error.text, words));
    buf_free(&content);
}

static void rejects_unreadable_files(void **state)
{
    (void)state;
    refuses("missing", "No such file");
    refuses("/", "is a directory");
    refuses("/dev/zero", "longer than 64 bytes");
    make_file(LIMIT + 1);
    refuses("file", "longer than 64 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_arrive_whole_through_a_full_and_interrupted_pipe),
        cmocka_unit_test(write_reports_errors),
        cmocka_unit_test_setup_teardown(a_file_is_appended_to_what_is_there, enter_directory,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(rejects_unreadable_files, enter_directory, leave_directory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
