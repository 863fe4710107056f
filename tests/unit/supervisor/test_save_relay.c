/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "supervisor/process/pipe/save_relay.h"

enum { SIZE = 5000000 }; /* of a snapshot: of many pipes */

struct fixture {
    int worker[2], next[2]; /* pipes */
    char *snapshot;
    struct save_relay *relay;
};

static int set_up(void **state)
{
    static struct fixture fixture;

    *state = &fixture;
    fixture.relay = NULL;
    fixture.snapshot = malloc(SIZE);
    if (fixture.snapshot == NULL)
        return -1;
    for (size_t i = 0; i < SIZE; i++)
        fixture.snapshot[i] = (char)(i * 7 / 3 + i / 4096);
    return pipe2(fixture.worker, O_CLOEXEC) == 0 ? pipe2(fixture.next, O_CLOEXEC) : -1;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    close(fixture->worker[0]);
    close(fixture->worker[1]);
    if (fixture->next[0] >= 0)
        close(fixture->next[0]);
    free(fixture->snapshot);
    return 0;
}

static void make_relay(struct fixture *fixture, const struct save_relay_options *options)
{
    struct error error;

    fixture->relay = save_relay_start(options, &error);
    assert_non_null(fixture->relay);
}

static void begin(const struct fixture *fixture)
{
    struct error error;

    assert_int_equal(save_relay_begin(fixture->relay, &error), 0);
}

static void start_relay(struct fixture *fixture, int pass_on, uint64_t cap)
{
    make_relay(fixture, &(struct save_relay_options){
                            .from = fixture->worker[0],
                            .pass_on = pass_on,
                            .cap = cap,
                        });
    begin(fixture);
}

static void write_snapshot(const struct fixture *fixture, size_t from, size_t to)
{
    assert_int_equal(io_write_all(fixture->worker[1], fixture->snapshot + from, to - from), 0);
}

/* The end of the relay, whose file has all of it. */
static void assert_kept(struct fixture *fixture)
{
    char *kept = malloc(SIZE);
    struct error error;
    struct stat status;
    int file = save_relay_end(fixture->relay, &error);

    assert_non_null(kept);
    assert_true(file >= 0);
    assert_int_equal(fstat(file, &status), 0);
    assert_int_equal(status.st_size, SIZE);
    assert_int_equal(pread(file, kept, SIZE, 0), SIZE);
    assert_memory_equal(kept, fixture->snapshot, SIZE);
    close(file);
    free(kept);
}

/* From the pipe of the next worker. */
static void assert_passed(const struct fixture *fixture, size_t from, size_t to)
{
    char *passed = malloc(SIZE);
    size_t length = 0;
    ssize_t got;

    assert_non_null(passed);
    while (length < to - from) {
        got = read(fixture->next[0], passed + length, to - from - length);
        assert_true(got > 0);
        length += (size_t)got;
    }
    assert_memory_equal(passed, fixture->snapshot + from, length);
    free(passed);
}

static void a_snapshot_is_passed_on_while_it_is_written(void **state)
{
    struct fixture *fixture = *state;
    char more;

    start_relay(fixture, fixture->next[1], SIZE);
    write_snapshot(fixture, 0, SIZE / 2);
    assert_passed(fixture, 0, SIZE / 2);
    write_snapshot(fixture, SIZE / 2, SIZE);
    assert_kept(fixture);
    assert_passed(fixture, SIZE / 2, SIZE);
    assert_int_equal(read(fixture->next[0], &more, 1), 0);
}

static void the_file_does_not_wait_for_the_next_worker(void **state)
{
    struct fixture *fixture = *state;

    start_relay(fixture, fixture->next[1], SIZE);
    write_snapshot(fixture, 0, SIZE);
    assert_kept(fixture);
    assert_passed(fixture, 0, SIZE);
}

static void a_next_worker_that_is_gone_changes_nothing(void **state)
{
    struct fixture *fixture = *state;

    start_relay(fixture, fixture->next[1], SIZE);
    write_snapshot(fixture, 0, SIZE / 2);
    close(fixture->next[0]);
    fixture->next[0] = -1;
    write_snapshot(fixture, SIZE / 2, SIZE);
    assert_kept(fixture);
}

static void what_was_in_the_pipe_before_is_no_part_of_it(void **state)
{
    struct fixture *fixture = *state;

    close(fixture->next[1]);
    make_relay(fixture, &(struct save_relay_options){
                            .from = fixture->worker[0],
                            .pass_on = -1,
                            .cap = SIZE,
                        });
    assert_int_equal(io_write_all(fixture->worker[1], "old", 3), 0);
    begin(fixture);
    write_snapshot(fixture, 0, SIZE);
    assert_kept(fixture);
}

/* And its writer is not made to wait. */
static void a_snapshot_that_is_too_long_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct error error;

    start_relay(fixture, fixture->next[1], SIZE / 3);
    write_snapshot(fixture, 0, SIZE);
    assert_int_equal(save_relay_end(fixture->relay, &error), -1);
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_string_equal(error.text, "it wrote a snapshot of more than 1666666 bytes");
}

static void a_worker_that_is_gone_leaves_what_it_wrote(void **state)
{
    struct fixture *fixture = *state;

    close(fixture->next[1]);
    start_relay(fixture, -1, SIZE);
    write_snapshot(fixture, 0, SIZE);
    close(fixture->worker[1]);
    assert_kept(fixture);
    fixture->worker[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
}

/* Whether more or less of it is there than comes. */
static void memory_that_is_there_before_changes_nothing(void **state)
{
    struct fixture *fixture = *state;

    make_relay(fixture, &(struct save_relay_options){
                            .from = fixture->worker[0],
                            .pass_on = fixture->next[1],
                            .expected = SIZE + SIZE / 2,
                            .cap = SIZE,
                        });
    begin(fixture);
    write_snapshot(fixture, 0, SIZE / 2);
    assert_passed(fixture, 0, SIZE / 2);
    write_snapshot(fixture, SIZE / 2, SIZE);
    assert_kept(fixture);
    assert_passed(fixture, SIZE / 2, SIZE);
}

static void one_that_never_begins_passes_nothing_on(void **state)
{
    struct fixture *fixture = *state;
    struct error error;
    struct stat status;
    char more;
    int file;

    make_relay(fixture, &(struct save_relay_options){
                            .from = fixture->worker[0],
                            .pass_on = fixture->next[1],
                            .expected = SIZE,
                            .cap = SIZE,
                        });
    write_snapshot(fixture, 0, 1000);
    file = save_relay_end(fixture->relay, &error);
    assert_true(file >= 0);
    assert_int_equal(fstat(file, &status), 0);
    assert_int_equal(status.st_size, 0);
    close(file);
    assert_int_equal(read(fixture->next[0], &more, 1), 0);
}

enum { HEAD = 63 };

/* A relay whose next worker has HEAD bytes already, with another length of all in the first four;
 * or one with another byte `at`. */
static void start_behind_head(struct fixture *fixture, size_t at)
{
    struct save_relay_options options = {
        .from = fixture->worker[0],
        .pass_on = fixture->next[1],
        .head = {.length = HEAD},
        .cap = SIZE,
    };

    memcpy(options.head.bytes, fixture->snapshot, HEAD);
    options.head.bytes[at] ^= 1;
    make_relay(fixture, &options);
    begin(fixture);
}

static void the_beginning_is_not_passed_on_again(void **state)
{
    struct fixture *fixture = *state;

    start_behind_head(fixture, 3);
    write_snapshot(fixture, 0, HEAD - 1);
    write_snapshot(fixture, HEAD - 1, SIZE / 2);
    assert_passed(fixture, HEAD, SIZE / 2);
    write_snapshot(fixture, SIZE / 2, SIZE);
    assert_kept(fixture);
    assert_passed(fixture, SIZE / 2, SIZE);
}

static void behind_another_beginning_nothing_is_passed_on(void **state)
{
    struct fixture *fixture = *state;
    char more;

    start_behind_head(fixture, HEAD - 1);
    write_snapshot(fixture, 0, SIZE);
    assert_kept(fixture);
    assert_int_equal(read(fixture->next[0], &more, 1), 0);
}

static void a_snapshot_shorter_than_the_beginning_is_not_passed_on(void **state)
{
    struct fixture *fixture = *state;
    struct error error;
    char more;
    int file;

    start_behind_head(fixture, 3);
    write_snapshot(fixture, 0, HEAD - 1);
    file = save_relay_end(fixture->relay, &error);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(read(fixture->next[0], &more, 1), 0);
}

int main(void)
{
#define RELAY_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        RELAY_TEST(a_snapshot_is_passed_on_while_it_is_written),
        RELAY_TEST(the_file_does_not_wait_for_the_next_worker),
        RELAY_TEST(a_next_worker_that_is_gone_changes_nothing),
        RELAY_TEST(what_was_in_the_pipe_before_is_no_part_of_it),
        RELAY_TEST(a_snapshot_that_is_too_long_is_refused),
        RELAY_TEST(a_worker_that_is_gone_leaves_what_it_wrote),
        RELAY_TEST(memory_that_is_there_before_changes_nothing),
        RELAY_TEST(one_that_never_begins_passes_nothing_on),
        RELAY_TEST(the_beginning_is_not_passed_on_again),
        RELAY_TEST(behind_another_beginning_nothing_is_passed_on),
        RELAY_TEST(a_snapshot_shorter_than_the_beginning_is_not_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
