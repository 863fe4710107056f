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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/io.h"
#include "slog/read/reader.h"
#include "slog/write/slog_file.h"
#include "slog/write/writer.h"

enum { FILE_LIMIT = 64 * 1024 * 1024 };

static struct error error;

/* A directory of each test's own, which is the working directory meanwhile. */
static int enter_directory(void **state)
{
    char name[] = "/tmp/gaspipe-slog.XXXXXX";

    assert_non_null(mkdtemp(name));
    *state = strdup(name);
    return *state == NULL ? -1 : chdir(name);
}

static int leave_directory(void **state)
{
    static const char *const names[] = {"a.slog",     "a.slog.1",     "a.slog.2",    "a.slog.3",
                                        "a.slog.zst", "a.slog.1.zst", "a.slog.2.zst"};
    int result;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(names[i]);
    result = chdir("/") != 0 || rmdir(*state) != 0;
    free(*state);
    return result;
}

/* The lines that a reader finds, each with a newline; then "CUT" if the file is cut. */
static void read_lines(const char *path, struct buf *text)
{
    struct reader *reader = reader_open(path, &error);
    struct reader_line line;
    int result;

    assert_non_null(reader);
    while ((result = reader_next(reader, false, &line, &error)) == 1) {
        buf_append(text, line.bytes, line.length);
        buf_append_string(text, line.torn ? "TORN" : "\n");
    }
    if (result != 0)
        fail_msg("%s", error.text);
    if (source_is_cut(reader_source(reader)))
        buf_append_string(text, "CUT");
    reader_close(reader);
}

static void reads_as(const char *path, const char *expected)
{
    struct buf text = {0};

    read_lines(path, &text);
    assert_string_equal(buf_string(&text), expected);
    buf_free(&text);
}

static struct slog_file *open_file(const char *path, bool expect_torn)
{
    bool torn;
    struct slog_file *file = slog_file_open(path, &torn, &error);

    if (file == NULL)
        fail_msg("%s", error.text);
    assert_int_equal(torn, expect_torn);
    return file;
}

static void write_text(struct slog_file *file, const char *text)
{
    size_t taken;

    assert_int_equal(slog_file_write(file, text, strlen(text), &taken, &error), 0);
    assert_int_equal(taken, strlen(text));
}

static void close_file(struct slog_file *file)
{
    assert_int_equal(slog_file_close(file, &error), 0);
}

/* ---- compressed files ---- */

static void open_file_reads_back_what_was_written(void **state)
{
    struct slog_file *file = open_file("a.slog.zst", false);

    (void)state;
    write_text(file, "one\n");
    reads_as("a.slog.zst", "one\nCUT");
    write_text(file, "two\nthree\n");
    reads_as("a.slog.zst", "one\ntwo\nthree\nCUT");
    close_file(file);
    reads_as("a.slog.zst", "one\ntwo\nthree\n");
}

static void file_continues_in_another_frame(void **state)
{
    struct slog_file *file = open_file("a.slog.zst", false);

    (void)state;
    write_text(file, "one\n");
    close_file(file);
    file = open_file("a.slog.zst", false);
    write_text(file, "two\n");
    close_file(file);
    reads_as("a.slog.zst", "one\ntwo\n");
}

static void write_for_ever(int said)
{
    struct slog_file *file = open_file("a.slog.zst", false);
    char line[64];

    for (int i = 0;; i++) {
        snprintf(line, sizeof line, "{\"line\":%d}\n", i);
        write_text(file, line);
        assert_int_equal(write(said, "x", 1), 1);
    }
}

/* Kills it in the midst of its work; how many lines it said it had written. */
static int kill_a_writer(void)
{
    int ends[2], status, said = 0;
    char byte;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        write_for_ever(ends[1]);
    close(ends[1]);
    while (read(ends[0], &byte, 1) == 1)
        if (++said == 100)
            assert_int_equal(kill(child, SIGKILL), 0);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return said;
}

static void killed_writers_file_is_read_and_continued(void **state)
{
    int said = kill_a_writer();
    struct slog_file *file = open_file("a.slog.zst", false);
    struct buf expected = {0}, content = {0};

    (void)state;
    for (int i = 0; i < said; i++)
        buf_printf(&expected, "{\"line\":%d}\n", i);
    write_text(file, "after\n");
    close_file(file);
    /* One more may have been written and not said. */
    read_lines("a.slog.zst", &content);
    if (content.length > expected.length + strlen("after\n"))
        buf_printf(&expected, "{\"line\":%d}\n", said);
    buf_append_string(&expected, "after\n");
    assert_string_equal(buf_string(&content), buf_string(&expected));
    buf_free(&expected);
    buf_free(&content);
}

static void put_file(const char *path, const char *bytes, size_t length)
{
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, length, out), length);
    assert_int_equal(fclose(out), 0);
}

/* A second writer continues the file: it has the old whole lines, and the new ones. */
static void has_second_worker(const struct buf *whole)
{
    struct slog_file *file = open_file("a.slog.zst", false);
    struct buf content = {0};

    write_text(file, "last\n");
    close_file(file);
    read_lines("a.slog.zst", &content);
    assert_true(content.length >= 5);
    assert_string_equal(buf_string(&content) + content.length - 5, "last\n");
    assert_memory_equal(content.data, whole->data, content.length - 5);
    buf_free(&content);
}

static void a_file_cut_anywhere_is_gone_on_with(void **state)
{
    struct slog_file *file = open_file("a.slog.zst", false);
    struct buf whole = {0}, text = {0};

    (void)state;
    write_text(file, "first\n");
    close_file(file);
    file = open_file("a.slog.zst", false);
    for (int i = 0; i < 5; i++)
        write_text(file, "second\n");
    close_file(file);
    read_lines("a.slog.zst", &text);
    assert_int_equal(io_read_file("a.slog.zst", FILE_LIMIT, &whole, &error), 0);
    for (size_t length = 0; length <= whole.length; length++) {
        put_file("a.slog.zst", whole.data, length);
        has_second_worker(&text);
    }
    buf_free(&whole);
    buf_free(&text);
}

static void torn_line_in_a_cut_file_is_reported(void **state)
{
    struct slog_file *file = open_file("a.slog.zst", false);

    (void)state;
    write_text(file, "one\ntw");
    close_file(file);
    file = open_file("a.slog.zst", true);
    write_text(file, "\nthree\n");
    close_file(file);
    reads_as("a.slog.zst", "one\ntw\nthree\n");
}

static void other_formats_are_refused_and_left_alone(void **state)
{
    static const char text[] = "{\"type\":\"slog-start\"}\n";
    struct buf content = {0};
    bool torn;

    (void)state;
    put_file("a.slog.zst", text, strlen(text));
    assert_null(slog_file_open("a.slog.zst", &torn, &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_non_null(strstr(error.text, "a.slog.zst: cannot append: not Zstandard data"));
    put_file("a.slog.zst", "ab", 2);
    assert_null(slog_file_open("a.slog.zst", &torn, &error));
    assert_int_equal(io_read_file("a.slog.zst", FILE_LIMIT, &content, &error), 0);
    assert_string_equal(buf_string(&content), "ab");
    buf_free(&content);
}

/* With a checksum in its end, which we would have to know. */
static void an_unfinished_frame_of_another_program_is_refused(void **state)
{
    static const char frame[] = "\x28\xb5\x2f\xfd\x04\x58\x20\x00\x00"
                                "one\n";
    bool torn;

    (void)state;
    put_file("a.slog.zst", frame, sizeof frame - 1);
    assert_null(slog_file_open("a.slog.zst", &torn, &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_non_null(
        strstr(error.text, "its last frame is unfinished, and was not written by gaspipe"));
}

static void limit_file_size(rlim_t limit)
{
    struct rlimit limits;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limits), 0);
    limits.rlim_cur = limit == RLIM_INFINITY ? limits.rlim_max : limit;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limits), 0);
}

static void a_full_disk_leaves_whole_blocks_and_loses_nothing(void **state)
{
    struct slog_file *file = open_file("a.slog.zst", false);
    size_t taken;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    write_text(file, "one\n");
    limit_file_size((rlim_t)slog_file_size(file) + 5);
    assert_int_equal(slog_file_write(file, "two, which is long\n", 19, &taken, &error), -1);
    assert_int_equal(error.kind, ERROR_SYSTEM);
    assert_int_equal(taken, 19);
    reads_as("a.slog.zst", "one\nCUT");
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(slog_file_write(file, NULL, 0, &taken, &error), 0);
    reads_as("a.slog.zst", "one\ntwo, which is long\nCUT");
    close_file(file);
    reads_as("a.slog.zst", "one\ntwo, which is long\n");
}

/* ---- parts ---- */

static void parts_are_numbered_before_the_suffix(void **state)
{
    struct buf name = {0};

    (void)state;
    assert_string_equal(slog_parts_path(&name, "a.slog", 0), "a.slog");
    assert_string_equal(slog_parts_path(&name, "a.slog", 12), "a.slog.12");
    assert_string_equal(slog_parts_path(&name, "a.slog.zst", 0), "a.slog.zst");
    assert_string_equal(slog_parts_path(&name, "a.slog.zst", 3), "a.slog.3.zst");
    buf_free(&name);
}

static struct slog_writer *open_writer(const char *path, struct slog_rotation rotation)
{
    const struct slog_start start = {
        .program = "test 1",
        .stamp = {.real = 1795219387791765, .mono = 5000000000},
        .rotation = rotation,
    };
    struct slog_writer *writer = slog_writer_open(path, &start, &error);

    if (writer == NULL)
        fail_msg("%s", error.text);
    return writer;
}

static void write_line(struct slog_writer *writer, const char *type)
{
    slog_line_begin(writer, type);
    assert_int_equal(slog_line_end(writer, (struct stamp){.mono = 5000000000}, &error), 0);
}

/* A block of two lines. */
static void write_block(struct slog_writer *writer, const char *type)
{
    write_line(writer, type);
    write_line(writer, type);
    assert_int_equal(slog_writer_flush(writer, &error), 0);
}

/* The types of a file's lines, each followed by a blank; "part N" for a later start line. */
static void has_types(const char *path, const char *expected)
{
    struct reader *reader = reader_open(path, &error);
    struct reader_line line;
    struct buf types = {0};

    if (reader == NULL)
        fail_msg("%s", error.text);
    while (reader_next(reader, false, &line, &error) == 1) {
        struct scan_span text = {line.bytes, line.length};
        struct scan_span type = scan_string(scan_get(text, "type"));
        struct scan_span part = scan_get(text, "part");

        buf_append(&types, type.at, type.length);
        if (part.at != NULL) {
            buf_append_byte(&types, '-');
            buf_append(&types, part.at, part.length);
        }
        buf_append_byte(&types, ' ');
    }
    assert_false(source_is_cut(reader_source(reader)));
    reader_close(reader);
    assert_string_equal(buf_string(&types), expected);
    buf_free(&types);
}

static void a_slogfile_is_cut_by_blocks(void **state)
{
    struct slog_writer *writer = open_writer("a.slog", (struct slog_rotation){.blocks = 2});

    (void)state;
    write_block(writer, "a");
    assert_int_equal(slog_writer_flush(writer, &error), 0);
    write_block(writer, "b");
    assert_int_equal(access("a.slog.1", F_OK), -1);
    write_block(writer, "c");
    write_block(writer, "d");
    write_block(writer, "e");
    assert_int_equal(slog_writer_close(writer, &error), 0);
    has_types("a.slog", "slog-start a a b b ");
    has_types("a.slog.1", "slog-start-1 c c d d ");
    has_types("a.slog.2", "slog-start-2 e e ");
}

static void no_part_has_but_its_start_line(void **state)
{
    struct slog_writer *writer = open_writer("a.slog", (struct slog_rotation){.blocks = 1});

    (void)state;
    write_block(writer, "a");
    assert_int_equal(slog_writer_close(writer, &error), 0);
    assert_int_equal(access("a.slog.1", F_OK), -1);
}

static void a_slogfile_is_cut_by_size_between_blocks(void **state)
{
    struct slog_writer *writer = open_writer("a.slog", (struct slog_rotation){.bytes = 1000});
    struct stat status;

    (void)state;
    for (int i = 0; i < 8000; i++)
        write_line(writer, "a");
    assert_int_equal(stat("a.slog", &status), 0);
    assert_true(status.st_size > 1000);
    assert_int_equal(access("a.slog.1", F_OK), -1);
    assert_int_equal(slog_writer_flush(writer, &error), 0);
    write_block(writer, "b");
    assert_int_equal(slog_writer_close(writer, &error), 0);
    has_types("a.slog.1", "slog-start-1 b b ");
}

static void cut_slogfile_continues_in_its_last_part(void **state)
{
    const struct slog_rotation rotation = {.bytes = 400};
    struct slog_writer *writer = open_writer("a.slog.zst", rotation);

    (void)state;
    put_file("a.slog.1.zst", "", 0);
    write_block(writer, "a");
    assert_int_equal(slog_writer_close(writer, &error), 0);
    writer = open_writer("a.slog.zst", rotation);
    write_block(writer, "b");
    assert_int_equal(slog_writer_close(writer, &error), 0);
    has_types("a.slog.zst", "slog-start a a ");
    has_types("a.slog.1.zst", "slog-start-1 b b ");
    /* Without the option the name alone counts. */
    writer = open_writer("a.slog.zst", (struct slog_rotation){0});
    assert_int_equal(slog_writer_close(writer, &error), 0);
    has_types("a.slog.zst", "slog-start a a slog-start ");
}

static void a_part_that_is_full_is_not_opened_again(void **state)
{
    const struct slog_rotation rotation = {.bytes = 50};
    struct slog_writer *writer = open_writer("a.slog", rotation);

    (void)state;
    assert_int_equal(slog_writer_close(writer, &error), 0);
    writer = open_writer("a.slog", rotation);
    write_block(writer, "a");
    assert_int_equal(slog_writer_close(writer, &error), 0);
    has_types("a.slog", "slog-start ");
    has_types("a.slog.1", "slog-start-1 a a ");
}

static void only_files_can_be_cut(void **state)
{
    const struct slog_start start = {.program = "test 1", .rotation = {.bytes = 100}};

    (void)state;
    assert_null(slog_writer_open("/dev/null", &start, &error));
    assert_int_equal(error.kind, ERROR_USAGE);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_directory, leave_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(open_file_reads_back_what_was_written),
        IN_FOLDER(file_continues_in_another_frame),
        IN_FOLDER(killed_writers_file_is_read_and_continued),
        IN_FOLDER(a_file_cut_anywhere_is_gone_on_with),
        IN_FOLDER(torn_line_in_a_cut_file_is_reported),
        IN_FOLDER(other_formats_are_refused_and_left_alone),
        IN_FOLDER(an_unfinished_frame_of_another_program_is_refused),
        IN_FOLDER(a_full_disk_leaves_whole_blocks_and_loses_nothing),
        cmocka_unit_test(parts_are_numbered_before_the_suffix),
        IN_FOLDER(a_slogfile_is_cut_by_blocks),
        IN_FOLDER(no_part_has_but_its_start_line),
        IN_FOLDER(a_slogfile_is_cut_by_size_between_blocks),
        IN_FOLDER(cut_slogfile_continues_in_its_last_part),
        IN_FOLDER(a_part_that_is_full_is_not_opened_again),
        cmocka_unit_test(only_files_can_be_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
