/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot from a worker's pipe, on a loop: the worker is a thread. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "supervisor/process/snapshot_pipe.h"

enum { SIZE = 5000000 }; /* of a snapshot: of many pipes */

struct fixture {
    uv_loop_t loop;
    uv_async_t written;
    int worker; /* its end of the pipe */
    int opened;
    char *snapshot;
    struct snapshot_pipe pipe;
};

static void on_written(uv_async_t *written)
{
    uv_close((uv_handle_t *)written, NULL);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    int ends[2];

    *state = &fixture;
    fixture.opened = 0;
    fixture.snapshot = malloc(SIZE);
    if (fixture.snapshot == NULL || pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    for (size_t i = 0; i < SIZE; i++)
        fixture.snapshot[i] = (char)(i * 7 / 3 + i / 4096);
    fixture.worker = ends[1];
    snapshot_pipe_init(&fixture.pipe, ends[0], SIZE);
    return uv_loop_init(&fixture.loop) != 0 ||
           uv_async_init(&fixture.loop, &fixture.written, on_written) != 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    if (fixture->opened > 0)
        uv_close((uv_handle_t *)&fixture->pipe.poll, NULL);
    if (!uv_is_closing((uv_handle_t *)&fixture->written))
        uv_close((uv_handle_t *)&fixture->written, NULL);
    (void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
    snapshot_pipe_free(&fixture->pipe);
    if (fixture->worker >= 0)
        close(fixture->worker);
    free(fixture->snapshot);
    return uv_loop_close(&fixture->loop);
}

static void begin(struct fixture *fixture)
{
    struct error error;

    assert_int_equal(
        snapshot_pipe_begin(&fixture->pipe, &fixture->loop, fixture, &fixture->opened, &error), 0);
    assert_int_equal(fixture->opened, 1);
}

static void *run_worker(void *context)
{
    struct fixture *fixture = context;

    assert_int_equal(io_write_all(fixture->worker, fixture->snapshot, SIZE), 0);
    assert_int_equal(uv_async_send(&fixture->written), 0);
    return NULL;
}

/* Runs the loop until the worker has written all. */
static void write_snapshot(struct fixture *fixture)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run_worker, fixture), 0);
    while (!uv_is_closing((uv_handle_t *)&fixture->written))
        (void)uv_run(&fixture->loop, UV_RUN_ONCE);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The file has all of it. */
static void assert_kept(struct fixture *fixture)
{
    char *kept = malloc(SIZE);
    struct error error;
    struct stat status;
    const int file = snapshot_pipe_end(&fixture->pipe, &error);

    assert_non_null(kept);
    assert_true(file >= 0);
    assert_int_equal(fstat(file, &status), 0);
    assert_int_equal(status.st_size, SIZE);
    assert_int_equal(read(file, kept, SIZE), SIZE);
    assert_memory_equal(kept, fixture->snapshot, SIZE);
    close(file);
    free(kept);
}

static void all_that_the_worker_writes_is_kept(void **state)
{
    struct fixture *fixture = *state;

    begin(fixture);
    write_snapshot(fixture);
    assert_kept(fixture);
}

static void earlier_bytes_in_the_pipe_are_dropped(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(io_write_all(fixture->worker, "old", 3), 0);
    begin(fixture);
    write_snapshot(fixture);
    assert_kept(fixture);
}

/* The worker is not made to wait for ever. */
static void a_snapshot_that_is_too_long_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct error error;

    fixture->pipe.cap = SIZE / 3;
    begin(fixture);
    write_snapshot(fixture);
    assert_int_equal(snapshot_pipe_end(&fixture->pipe, &error), -1);
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_string_equal(error.text, "it wrote a snapshot of more than 1666666 bytes");
}

static void a_second_snapshot_replaces_the_first(void **state)
{
    struct fixture *fixture = *state;
    struct error error;
    int first;

    begin(fixture);
    assert_int_equal(io_write_all(fixture->worker, "first", 5), 0);
    first = snapshot_pipe_end(&fixture->pipe, &error);
    assert_true(first >= 0);
    assert_int_equal(lseek(first, 0, SEEK_END), 5);
    close(first);
    begin(fixture);
    write_snapshot(fixture);
    assert_kept(fixture);
}

/* The loop is not kept busy by the end of the pipe. */
static void a_worker_that_has_ended_leaves_what_it_wrote(void **state)
{
    struct fixture *fixture = *state;

    begin(fixture);
    write_snapshot(fixture);
    close(fixture->worker);
    fixture->worker = -1;
    (void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_kept(fixture);
}

int main(void)
{
#define PIPE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        PIPE_TEST(all_that_the_worker_writes_is_kept),
        PIPE_TEST(earlier_bytes_in_the_pipe_are_dropped),
        PIPE_TEST(a_snapshot_that_is_too_long_is_refused),
        PIPE_TEST(a_second_snapshot_replaces_the_first),
        PIPE_TEST(a_worker_that_has_ended_leaves_what_it_wrote),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
