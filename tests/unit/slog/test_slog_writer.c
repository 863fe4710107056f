/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/io.h"
#include "slog/write/writer.h"

enum { FILE_LIMIT = 64 * 1024 * 1024 };

static const struct slog_start start = {
    .program = "test 1",
    .stamp = {.real = 1795219387791765, .mono = 5000000000},
};
static const struct slog_delivery live = {
    .crank_num = 7, .vat_id = "v1", .delivery_num = 2, .dispatch = "message"};
static const struct slog_delivery replay = {
    .replay = true, .crank_num = 7, .vat_id = "v1", .delivery_num = 2, .dispatch = "message"};

/* A directory of the test's own, with the path of a slogfile in it. */
struct place {
    char directory[64];
    char path[96];
};

static int make_place(void **state)
{
    struct place *place = calloc(1, sizeof *place);

    assert_non_null(place);
    strcpy(place->directory, "/tmp/slogwriter.XXXXXX");
    assert_non_null(mkdtemp(place->directory));
    snprintf(place->path, sizeof place->path, "%s/run.slog", place->directory);
    *state = place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;

    unlink(place->path);
    rmdir(place->directory);
    free(place);
    return 0;
}

static struct stamp after(int64_t nanoseconds)
{
    return (struct stamp){.real = start.stamp.real + nanoseconds / 1000,
                          .mono = start.stamp.mono + nanoseconds};
}

static struct slog_writer *open_writer(const char *path)
{
    struct error error;
    struct slog_writer *writer = slog_writer_open(path, &start, &error);

    if (writer == NULL)
        fail_msg("%s", error.text);
    return writer;
}

static void close_writer(struct slog_writer *writer)
{
    struct error error;

    assert_int_equal(slog_writer_close(writer, &error), 0);
}

/* The file as a C string, owned by *content. */
static const char *content_of(const char *path, struct buf *content)
{
    struct error error;

    buf_clear(content);
    assert_int_equal(io_read_file(path, FILE_LIMIT, content, &error), 0);
    return buf_string(content);
}

/* The lines after the slog-start line. */
static const char *lines_of(const char *path, struct buf *content)
{
    const char *newline = strchr(content_of(path, content), '\n');

    assert_non_null(newline);
    return newline + 1;
}

static void expect_lines(const struct place *place, const char *expected)
{
    struct buf content = {0};

    assert_string_equal(lines_of(place->path, &content), expected);
    buf_free(&content);
}

static void writes_fields_in_swingset_order(void **state)
{
    struct slog_writer *writer = open_writer(((struct place *)*state)->path);
    struct error error;

    slog_line_delivery(writer, "deliver", &live);
    slog_field_raw(writer, "kd", "[1]", 3);
    assert_int_equal(slog_line_end(writer, after(1), &error), 0);
    slog_line_syscall(writer, "syscall-result", &live, 3, "vatstoreGet");
    slog_field_null(writer, "ksr");
    assert_int_equal(slog_line_finish(writer, after(1000), after(1002500), &error), 0);
    slog_line_console(writer, &live, "vat", "log");
    slog_field_string(writer, "args", "a\"\n", 3);
    assert_int_equal(slog_line_end(writer, after(-5), &error), 0);
    close_writer(writer);
    expect_lines(
        *state,
        "{\"type\":\"deliver\",\"crankNum\":7,\"vatID\":\"v1\",\"deliveryNum\":2,\"replay\":false,"
        "\"dispatch\":\"message\",\"kd\":[1],\"time\":1795219387.791765,\"monotime\":0.000000001}\n"
        "{\"type\":\"syscall-result\",\"crankNum\":7,\"vatID\":\"v1\",\"deliveryNum\":2,"
        "\"syscallNum\":3,\"replay\":false,\"syscall\":\"vatstoreGet\",\"ksr\":null,"
        "\"time\":1795219387.792767,\"monotime\":0.001002500,\"seconds\":0.001001500}\n"
        "{\"type\":\"console\",\"source\":\"vat\",\"state\":\"delivery\",\"crankNum\":7,"
        "\"vatID\":\"v1\",\"deliveryNum\":2,\"level\":\"log\",\"args\":\"a\\\"\\n\","
        "\"time\":1795219387.791765,\"monotime\":-0.000000005}\n");
}

static void leaves_out_the_crank_in_a_replay(void **state)
{
    struct slog_writer *writer = open_writer(((struct place *)*state)->path);
    struct error error;

    slog_line_delivery(writer, "deliver", &replay);
    assert_int_equal(slog_line_end(writer, after(0), &error), 0);
    close_writer(writer);
    expect_lines(*state,
                 "{\"type\":\"deliver\",\"vatID\":\"v1\",\"deliveryNum\":2,\"replay\":true,"
                 "\"dispatch\":\"message\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n");
}

/* Takes the session's id out of a slog-start line, and gives what follows it. */
static const char *take_session(const char *line, char session[SLOG_SESSION_SIZE])
{
    static const char begin[] = "{\"type\":\"slog-start\",\"version\":1,\"session\":\"";
    size_t length;

    assert_memory_equal(line, begin, strlen(begin));
    line += strlen(begin);
    length = strcspn(line, "\"");
    assert_in_range(length, 16, SLOG_SESSION_SIZE - 1);
    snprintf(session, SLOG_SESSION_SIZE, "%.*s", (int)length, line);
    return line + length;
}

static void begins_with_the_session(void **state)
{
    static const char lines_after[] = "\",\"program\":\"test 1\",\"host\":\"";
    const char *path = ((struct place *)*state)->path, *rest;
    char session[SLOG_SESSION_SIZE], next_session[SLOG_SESSION_SIZE];
    struct buf content = {0};

    close_writer(open_writer(path));
    close_writer(open_writer(path));
    content_of(path, &content);
    rest = take_session(buf_string(&content), session);
    assert_memory_equal(rest, lines_after, strlen(lines_after));
    rest = strchr(rest, '\n');
    assert_non_null(rest);
    take_session(rest + 1, next_session);
    assert_string_not_equal(session, next_session);
    assert_non_null(strstr(buf_string(&content), ",\"monoBase\":5000000000,\"time\":"));
    buf_free(&content);
}

static void begins_a_new_line_after_a_torn_one(void **state)
{
    const char *path = ((struct place *)*state)->path;
    static const char torn[] = "{\"type\":\"del";
    struct buf content = {0};
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(torn, file);
    assert_int_equal(fclose(file), 0);
    close_writer(open_writer(path));
    content_of(path, &content);
    assert_memory_equal(content.data, torn, strlen(torn));
    assert_memory_equal(content.data + strlen(torn), "\n{\"type\":\"slog-start\"", 21);
    buf_free(&content);
}

static void drops_a_line_with_a_raw_newline(void **state)
{
    struct slog_writer *writer = open_writer(((struct place *)*state)->path);
    struct error error;

    slog_line_begin(writer, "deliver");
    slog_field_raw(writer, "kd", "[\n]", 3);
    assert_int_equal(slog_line_end(writer, after(0), &error), -1);
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_non_null(strstr(error.text, "kd"));
    slog_line_begin(writer, "terminate");
    assert_int_equal(slog_line_end(writer, after(0), &error), 0);
    close_writer(writer);
    expect_lines(*state, "{\"type\":\"terminate\",\"time\":1795219387.791765,"
                         "\"monotime\":0.000000000}\n");
}

static void limit_file_size(rlim_t limit)
{
    struct rlimit limits;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limits), 0);
    limits.rlim_cur = limit == RLIM_INFINITY ? limits.rlim_max : limit;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limits), 0);
}

static void write_numbered_line(struct slog_writer *writer, int number)
{
    struct error error;

    slog_line_begin(writer, "clist");
    slog_field_integer(writer, "number", number);
    assert_int_equal(slog_line_end(writer, after(0), &error), 0);
}

/* A file size limit stops a write in the middle, as a full disk does. */
static void leaves_no_half_line_when_the_disk_is_full(void **state)
{
    const char *path = ((struct place *)*state)->path;
    struct slog_writer *writer = open_writer(path);
    struct buf content = {0};
    struct error error;
    size_t before = strlen(content_of(path, &content));

    signal(SIGXFSZ, SIG_IGN);
    for (int i = 1; i <= 3; i++)
        write_numbered_line(writer, i);
    limit_file_size(before + 100);
    assert_int_equal(slog_writer_flush(writer, &error), -1);
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(error.kind, ERROR_SYSTEM);
    assert_non_null(strstr(error.text, path));
    expect_lines(*state, "{\"type\":\"clist\",\"number\":1,\"time\":1795219387.791765,"
                         "\"monotime\":0.000000000}\n");
    /* With space again, no line has been lost or doubled. */
    close_writer(writer);
    expect_lines(
        *state,
        "{\"type\":\"clist\",\"number\":1,\"time\":1795219387.791765,\"monotime\":0.000000000}\n"
        "{\"type\":\"clist\",\"number\":2,\"time\":1795219387.791765,\"monotime\":0.000000000}\n"
        "{\"type\":\"clist\",\"number\":3,\"time\":1795219387.791765,\"monotime\":0.000000000}\n");
    buf_free(&content);
}

static void the_start_line_has_the_fingerprint(void **state)
{
    const char *path = ((struct place *)*state)->path;
    struct slog_start counted = start;
    struct slog_writer *writer;
    struct buf content = {0};
    struct error error;

    counted.fingerprint = "ab12";
    writer = slog_writer_open(path, &counted, &error);
    assert_non_null(writer);
    assert_non_null(strstr(content_of(path, &content), ",\"fingerprint\":\"ab12\",\"time\":"));
    close_writer(writer);
    buf_free(&content);
}

static void says_when_the_disk_is_full_at_once(void **state)
{
    struct error error = {0};

    (void)state;
    assert_null(slog_writer_open("/dev/full", &start, &error));
    assert_int_equal(error.kind, ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "/dev/full"));
}

static void missing_directory_is_named(void **state)
{
    struct error error = {0};

    (void)state;
    assert_null(slog_writer_open("/nowhere/at/all.slog", &start, &error));
    assert_int_equal(error.kind, ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "/nowhere/at/all.slog"));
}

static void refuses_a_second_writer(void **state)
{
    const char *path = ((struct place *)*state)->path;
    struct slog_writer *writer = open_writer(path);
    struct error error = {0};

    assert_null(slog_writer_open(path, &start, &error));
    assert_int_equal(error.kind, ERROR_SYSTEM);
    close_writer(writer);
}

static void keeps_lines_in_memory_until_flushed(void **state)
{
    const char *path = ((struct place *)*state)->path;
    struct slog_writer *writer = open_writer(path);
    struct buf content = {0};
    struct error error;

    write_numbered_line(writer, 1);
    assert_string_equal(lines_of(path, &content), "");
    assert_int_equal(slog_writer_flush(writer, &error), 0);
    assert_string_not_equal(lines_of(path, &content), "");
    for (int i = 0; i < 10000; i++)
        write_numbered_line(writer, i);
    assert_true(strlen(lines_of(path, &content)) > 256 * 1024);
    close_writer(writer);
    buf_free(&content);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

static void write_word(struct slog_writer *writer, const char *word)
{
    struct error error;

    slog_line_begin(writer, word);
    assert_int_equal(slog_line_end(writer, after(0), &error), 0);
}

static void lines_deferred_are_written_where_they_are_put(void **state)
{
    const struct place *place = *state;
    struct slog_writer *writer = open_writer(place->path);
    struct slog_writer *deferred = slog_writer_deferred(writer),
                       *dropped = slog_writer_deferred(writer);
    struct error error;

    assert_non_null(deferred);
    assert_non_null(dropped);
    write_word(deferred, "second");
    write_word(dropped, "never");
    write_word(writer, "first");
    assert_int_equal(slog_writer_join(writer, deferred, &error), 0);
    assert_int_equal(slog_writer_join(NULL, dropped, &error), 0);
    assert_int_equal(slog_writer_join(writer, NULL, &error), 0);
    write_word(writer, "third");
    close_writer(writer);
    expect_lines(place,
                 "{\"type\":\"first\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n"
                 "{\"type\":\"second\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n"
                 "{\"type\":\"third\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n");
}

/* Also by a flush, and after it. */
static void lines_that_come_late_stand_where_their_gap_was_left(void **state)
{
    const struct place *place = *state;
    struct slog_writer *writer = open_writer(place->path);
    struct slog_writer *late = slog_writer_deferred(writer), *later = slog_writer_deferred(writer);
    struct error error;

    assert_non_null(late);
    assert_non_null(later);
    assert_true(slog_gap_leave(writer));
    write_word(writer, "second");
    assert_true(slog_gap_leave(writer));
    assert_int_equal(slog_writer_flush(writer, &error), 0);
    write_word(writer, "fourth");
    write_word(late, "first");
    write_word(later, "third");
    assert_int_equal(slog_gap_fill(writer, late, &error), 0);
    assert_int_equal(slog_gap_fill(writer, later, &error), 0);
    assert_true(slog_gap_leave(writer));
    write_word(writer, "fifth");
    close_writer(writer);
    expect_lines(place,
                 "{\"type\":\"first\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n"
                 "{\"type\":\"second\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n"
                 "{\"type\":\"third\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n"
                 "{\"type\":\"fourth\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n"
                 "{\"type\":\"fifth\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n");
}

/* A part has these types of lines after its start line, as in "first second "; it is removed. */
static void expect_part(const struct place *place, const char *suffix, const char *expected)
{
    struct buf content = {0}, types = {0};
    char path[112];

    snprintf(path, sizeof path, "%s%s", place->path, suffix);
    for (const char *line = lines_of(path, &content); *line != '\0';
         line = strchr(line, '\n') + 1) {
        char type[8];

        assert_int_equal(sscanf(line, "{\"type\":\"%7[^\"]", type), 1);
        buf_append_string(&types, type);
        buf_append_byte(&types, ' ');
    }
    assert_string_equal(buf_string(&types), expected);
    buf_free(&types);
    buf_free(&content);
    assert_int_equal(unlink(path), 0);
}

/* Committed lines are in the file before they are printed, even if a later snapshot is not ready.
 */
static void blocks_in_front_of_a_gap_are_written(void **state)
{
    const struct place *place = *state;
    struct slog_writer *writer = open_writer(place->path);
    struct slog_writer *late = slog_writer_deferred(writer), *later = slog_writer_deferred(writer);
    struct buf content = {0};
    struct error error;

    assert_non_null(late);
    assert_non_null(later);
    assert_true(slog_gap_leave(writer));
    write_word(writer, "second");
    assert_int_equal(slog_writer_flush(writer, &error), 0);
    write_word(writer, "third");
    assert_true(slog_gap_leave(writer));
    write_word(late, "first");
    assert_int_equal(slog_gap_fill(writer, late, &error), 0);
    assert_int_equal(slog_writer_flush(writer, &error), 0);
    assert_string_equal(
        lines_of(place->path, &content),
        "{\"type\":\"first\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n"
        "{\"type\":\"second\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n");
    buf_free(&content);
    write_word(later, "fourth");
    assert_int_equal(slog_gap_fill(writer, later, &error), 0);
    close_writer(writer);
    expect_lines(place,
                 "{\"type\":\"first\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n"
                 "{\"type\":\"second\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n"
                 "{\"type\":\"third\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n"
                 "{\"type\":\"fourth\",\"time\":1795219387.791765,\"monotime\":0.000000000}\n");
}

/* Five blocks, each flushed at its end, and a gap within one of them. */
static void write_blocks(struct slog_writer *writer, int gap)
{
    struct slog_writer *late = slog_writer_deferred(writer);
    struct error error;

    assert_non_null(late);
    write_word(late, "late");
    for (int block = 0; block < 5; block++) {
        write_word(writer, (const char *[]){"a", "b", "c", "d", "e"}[block]);
        if (block == gap)
            assert_true(slog_gap_leave(writer));
        assert_int_equal(slog_writer_flush(writer, &error), 0);
    }
    assert_int_equal(slog_gap_fill(writer, late, &error), 0);
}

/* Blocks that wait for a gap are cut at their ends, and so are the blocks before it. */
static void parts_end_around_a_gap_too(void **state)
{
    static const char *const expected[5][3] = {
        {"a late b ", "c d ", "e "}, {"a b late ", "c d ", "e "}, {"a b ", "c late d ", "e "},
        {"a b ", "c d late ", "e "}, {"a b ", "c d ", "e late "},
    };
    const struct place *place = *state;
    struct slog_start two_blocks = start;

    two_blocks.rotation.blocks = 2;
    for (int gap = 0; gap < 5; gap++) {
        struct error error;
        struct slog_writer *writer = slog_writer_open(place->path, &two_blocks, &error);

        assert_non_null(writer);
        write_blocks(writer, gap);
        close_writer(writer);
        expect_part(place, "", expected[gap][0]);
        expect_part(place, ".1", expected[gap][1]);
        expect_part(place, ".2", expected[gap][2]);
    }
}

static void gaps_are_limited(void **state)
{
    const struct place *place = *state;
    struct slog_writer *writer = open_writer(place->path);
    struct slog_writer *late = slog_writer_deferred(writer);
    struct error error;

    assert_non_null(late);
    for (int i = 0; i < SLOG_GAPS_MAX; i++)
        assert_true(slog_gap_leave(writer));
    assert_false(slog_gap_leave(writer));
    assert_int_equal(slog_gap_fill(writer, late, &error), 0);
    assert_true(slog_gap_leave(writer));
    close_writer(writer);
}

/* More than is gathered before it is written. */
static void many_lines_can_be_deferred(void **state)
{
    enum { LINES = 8000 };
    const struct place *place = *state;
    struct slog_writer *writer = open_writer(place->path);
    struct slog_writer *deferred = slog_writer_deferred(writer);
    struct buf content = {0};
    struct error error;
    size_t lines = 0;

    assert_non_null(deferred);
    for (int i = 0; i < LINES; i++)
        write_word(deferred, "one");
    assert_int_equal(slog_writer_join(writer, deferred, &error), 0);
    close_writer(writer);
    for (const char *at = lines_of(place->path, &content); *at != '\0'; at++)
        lines += *at == '\n';
    assert_int_equal(lines, LINES);
    buf_free(&content);
}

/* Ten kilobytes. */
static void write_number(struct slog_writer *writer, int number)
{
    static char filling[10000];
    struct error error;

    memset(filling, 'x', sizeof filling);
    slog_line_begin(writer, "number");
    slog_field_integer(writer, "n", number);
    slog_field_string(writer, "filling", filling, sizeof filling);
    assert_int_equal(slog_line_end(writer, after(number), &error), 0);
}

static void write_numbers(struct slog_writer *writer, int from, int to)
{
    for (int number = from; number < to; number++)
        write_number(writer, number);
}

/* The numbers of the lines stand in their order, from 0 on. */
static void expect_numbers(const char *path, int count)
{
    static const char mark[] = "{\"type\":\"number\",\"n\":";
    struct buf content = {0};
    const char *at = lines_of(path, &content);
    int number = 0;

    while (*at != '\0') {
        if (strncmp(at, mark, strlen(mark)) == 0)
            assert_int_equal(strtol(at + strlen(mark), NULL, 10), number++);
        at = strchr(at, '\n') + 1;
    }
    assert_int_equal(number, count);
    buf_free(&content);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

/* Kilobytes that this process has had at most. */
static long peak_memory(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static void lines_that_wait_take_little_memory(void **state)
{
    const struct place *place = *state;
    struct slog_writer *writer = open_writer(place->path);
    struct slog_writer *late[2] = {slog_writer_deferred(writer), slog_writer_deferred(writer)};
    struct slog_writer *deferred = slog_writer_deferred(writer);
    const long before = peak_memory();
    struct error error;

    write_numbers(writer, 0, 100);
    assert_true(slog_gap_leave(writer));
    write_numbers(writer, 101, 700);
    assert_int_equal(slog_writer_flush(writer, &error), 0);
    write_numbers(writer, 700, 2000);
    assert_true(slog_gap_leave(writer));
    write_numbers(writer, 2001, 3000);
    write_numbers(deferred, 3000, 5000);
    assert_int_equal(slog_writer_join(writer, deferred, &error), 0);
    write_numbers(writer, 5000, 5010);
    assert_int_equal(slog_writer_flush(writer, &error), 0);
    write_number(late[0], 100);
    assert_int_equal(slog_gap_fill(writer, late[0], &error), 0);
    assert_int_equal(slog_writer_flush(writer, &error), 0);
    write_number(late[1], 2000);
    assert_int_equal(slog_gap_fill(writer, late[1], &error), 0);
    assert_int_equal(slog_writer_flush(writer, &error), 0);
    /* A sanitizer keeps what is freed. */
    if (!IS_SANITIZED)
        assert_true(peak_memory() < before + 20 * 1024); /* of 50 MB of lines */
    expect_numbers(place->path, 5010);
    close_writer(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_deferred_are_written_where_they_are_put, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(many_lines_can_be_deferred, make_place, remove_place),
        WITH_PLACE(lines_that_come_late_stand_where_their_gap_was_left),
        WITH_PLACE(blocks_in_front_of_a_gap_are_written),
        WITH_PLACE(parts_end_around_a_gap_too),
        WITH_PLACE(gaps_are_limited),
        WITH_PLACE(lines_that_wait_take_little_memory),
        WITH_PLACE(writes_fields_in_swingset_order),
        WITH_PLACE(the_start_line_has_the_fingerprint),
        WITH_PLACE(leaves_out_the_crank_in_a_replay),
        WITH_PLACE(begins_with_the_session),
        WITH_PLACE(begins_a_new_line_after_a_torn_one),
        WITH_PLACE(drops_a_line_with_a_raw_newline),
        WITH_PLACE(leaves_no_half_line_when_the_disk_is_full),
        cmocka_unit_test(says_when_the_disk_is_full_at_once),
        cmocka_unit_test(missing_directory_is_named),
        WITH_PLACE(refuses_a_second_writer),
        WITH_PLACE(keeps_lines_in_memory_until_flushed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
