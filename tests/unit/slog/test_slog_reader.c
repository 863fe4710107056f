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
#include <zlib.h>

#include "base/buf.h"
#include "base/io.h"
#include "slog/read/decoder.h"
#include "slog/read/reader.h"
#include "slog/read/source.h"

static char path[] = "/tmp/slogreader.XXXXXX";

static void write_file(const char *bytes, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, bytes, length), 0);
    assert_int_equal(close(fd), 0);
}

static void append_file(const char *text)
{
    int fd = open(path, O_WRONLY | O_APPEND);

    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
    assert_int_equal(close(fd), 0);
}

static struct reader *open_reader(void)
{
    struct error error;
    struct reader *reader = reader_open(path, &error);

    if (reader == NULL)
        fail_msg("%s", error.text);
    return reader;
}

/* Checks what a reader returns for `text`: each line in <>, torn ones in {}. */
static void expect_lines(const char *text, const char *expected)
{
    struct reader *reader;
    struct reader_block block = {0};
    struct buf found = {0};
    struct error error;

    write_file(text, strlen(text));
    reader = open_reader();
    while (reader_next_block(reader, false, &block, &error) > 0) {
        struct scan_span line;
        size_t position = 0;

        while (reader_next_line(&block, &position, &line))
            buf_printf(&found, block.torn ? "{%.*s}" : "<%.*s>", (int)line.length, line.at);
    }
    assert_string_equal(buf_string(&found), expected);
    buf_free(&found);
    reader_free_block(&block);
    reader_close(reader);
}

static void gives_whole_lines_and_the_torn_one(void **state)
{
    (void)state;
    expect_lines("", "");
    expect_lines("a\n", "<a>");
    expect_lines("a\n\nbc\n", "<a><><bc>");
    expect_lines("a\nbc", "<a>{bc}");
    expect_lines("bc", "{bc}");
    expect_lines("\n", "<>");
}

/* Lines of all lengths around the size of a block come out as they went in. */
static void lines_cross_blocks(void **state)
{
    enum { LINES = 600 };
    struct buf text = {0}, found = {0};
    struct reader_block block = {0};
    struct reader *reader;
    struct error error;

    (void)state;
    for (int i = 0; i < LINES; i++) {
        int length = i % 50 == 0 ? 300000 + i : i * 7 % 3001;

        for (int j = 0; j < length; j++)
            buf_append_byte(&text, (char)('a' + (i + j) % 26));
        buf_append_byte(&text, '\n');
    }
    write_file(text.data, text.length);
    reader = open_reader();
    while (reader_next_block(reader, false, &block, &error) > 0) {
        assert_int_equal(block.bytes[block.length - 1], '\n');
        assert_false(block.torn || block.too_long);
        buf_append(&found, block.bytes, block.length);
    }
    assert_int_equal(found.length, text.length);
    assert_memory_equal(found.data, text.data, text.length);
    reader_free_block(&block);
    reader_close(reader);
    buf_free(&text);
    buf_free(&found);
}

static void gives_lines_by_themselves(void **state)
{
    static const char *const lines[] = {"a", "", "bc", "torn"};
    struct reader *reader;
    struct reader_line line;
    struct error error;

    (void)state;
    write_file("a\n\nbc\ntorn", 10);
    reader = open_reader();
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(reader_next(reader, false, &line, &error), 1);
        assert_int_equal(line.length, strlen(lines[i]));
        assert_memory_equal(line.bytes, lines[i], line.length);
        assert_int_equal(line.number, i + 1);
        assert_int_equal(line.torn, i == 3);
    }
    assert_int_equal(reader_next(reader, false, &line, &error), 0);
    assert_int_equal(reader_next(reader, false, &line, &error), 0);
    reader_close(reader);
}

static void drops_a_line_that_is_too_long(void **state)
{
    struct buf text = {0};
    struct reader_block block = {0};
    struct reader *reader;
    struct error error;

    (void)state;
    buf_append_string(&text, "before\n");
    assert_int_equal(buf_reserve(&text, 3 * (size_t)READER_LONGEST_LINE), 0);
    memset(text.data + text.length, 'x', 2 * (size_t)READER_LONGEST_LINE);
    text.length += 2 * (size_t)READER_LONGEST_LINE;
    buf_append_string(&text, "\nafter\n");
    write_file(text.data, text.length);
    buf_free(&text);
    reader = open_reader();
    assert_int_equal(reader_next_block(reader, false, &block, &error), 1);
    assert_memory_equal(block.bytes, "before\n", block.length);
    assert_int_equal(reader_next_block(reader, false, &block, &error), 1);
    assert_true(block.too_long);
    assert_int_equal(reader_next_block(reader, false, &block, &error), 1);
    assert_memory_equal(block.bytes, "after\n", block.length);
    assert_false(block.too_long);
    assert_int_equal(reader_next_block(reader, false, &block, &error), 0);
    reader_free_block(&block);
    reader_close(reader);
}

static void follows_a_file_that_grows(void **state)
{
    struct reader_block block = {0};
    struct reader *reader;
    struct error error;

    (void)state;
    write_file("one\ntw", 6);
    reader = open_reader();
    assert_int_equal(reader_next_block(reader, true, &block, &error), 1);
    assert_memory_equal(block.bytes, "one\n", block.length);
    assert_int_equal(reader_next_block(reader, true, &block, &error), 0);
    assert_int_equal(reader_next_block(reader, true, &block, &error), 0);
    append_file("o\nthree");
    assert_int_equal(reader_next_block(reader, true, &block, &error), 1);
    assert_memory_equal(block.bytes, "two\n", block.length);
    assert_int_equal(reader_next_block(reader, true, &block, &error), 0);
    assert_int_equal(reader_next_block(reader, false, &block, &error), 1);
    assert_true(block.torn);
    assert_memory_equal(block.bytes, "three", block.length);
    reader_free_block(&block);
    reader_close(reader);
}

/* Appends a gzip member, uncompressed inside, with all that a header can have. */
static void append_member(struct buf *file, const struct buf *text)
{
    char name[] = "name", comment[] = "comment";
    uint8_t extra[] = "extra", out[4096];
    gz_header header = {.extra = extra,
                        .extra_len = sizeof extra,
                        .name = (Bytef *)name,
                        .comment = (Bytef *)comment,
                        .hcrc = 1};
    z_stream stream = {.next_in = (Bytef *)text->data, .avail_in = (uInt)text->length};

    assert_int_equal(deflateInit2(&stream, 0, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflateSetHeader(&stream, &header), Z_OK);
    do {
        stream.next_out = out;
        stream.avail_out = sizeof out;
        assert_int_not_equal(deflate(&stream, Z_FINISH), Z_STREAM_ERROR);
        buf_append(file, out, sizeof out - stream.avail_out);
    } while (stream.avail_out == 0);
    assert_int_equal(deflateEnd(&stream), Z_OK);
}

static void append_member_of(struct buf *file, char letter, size_t length)
{
    struct buf text = {0};

    for (size_t i = 1; i < length; i++)
        buf_append(&text, &letter, 1);
    buf_append(&text, "\n", 1);
    append_member(file, &text);
    buf_free(&text);
}

/* Cuts the input of one read(2) within the header of the second member. */
static void gzip_headers_can_be_cut_anywhere(void **state)
{
    struct buf small = {0};
    size_t around, header;

    (void)state;
    append_member_of(&small, 'b', 1);
    header = small.length - 1 - 5 - 8; /* the byte, what is around a stored block, the trailer */
    around = small.length - 1;
    for (size_t there = 0; there <= header; there++) {
        struct buf file = {0};
        struct reader *reader;
        struct reader_line line;
        struct error error;
        size_t length = SOURCE_INPUT_SIZE - there - around;

        append_member_of(&file, 'a', length);
        length -= file.length - (SOURCE_INPUT_SIZE - there); /* for more stored blocks */
        buf_clear(&file);
        append_member_of(&file, 'a', length);
        assert_int_equal(file.length, SOURCE_INPUT_SIZE - there);
        buf_append(&file, small.data, small.length);
        append_member_of(&file, 'c', 5);
        write_file(file.data, file.length);
        reader = open_reader();
        assert_int_equal(reader_next(reader, false, &line, &error), 1);
        assert_int_equal(line.length, length - 1);
        assert_int_equal(reader_next(reader, false, &line, &error), 1);
        assert_int_equal(line.length, 0);
        assert_int_equal(reader_next(reader, false, &line, &error), 1);
        assert_memory_equal(line.bytes, "cccc", line.length);
        assert_int_equal(reader_next(reader, false, &line, &error), 0);
        assert_false(source_is_cut(reader_source(reader)));
        reader_close(reader);
        buf_free(&file);
    }
    buf_free(&small);
}

/* However many threads read, the records come in their order, and the end is met again. */
static void decodes_in_order(void **state)
{
    enum { LINES = 50000 };
    struct buf text = {0};
    struct error error;

    (void)state;
    for (int i = 0; i < LINES; i++)
        buf_printf(&text, "{\"type\":\"deliver\",\"crankNum\":%d,\"time\":1.5}\n", i);
    write_file(text.data, text.length);
    buf_free(&text);
    for (unsigned jobs = 1; jobs <= 5; jobs++) {
        struct decoder *decoder = decoder_open(path, jobs, &error);
        struct decoder_batch batch;
        int64_t expected = 0;

        assert_non_null(decoder);
        while (decoder_next(decoder, false, &batch, &error) > 0) {
            for (size_t i = 0; i < batch.count; i++)
                assert_int_equal(batch.lines[i].record.crank_num, expected++);
        }
        assert_int_equal(expected, LINES);
        assert_int_equal(decoder_next(decoder, false, &batch, &error), 0);
        decoder_close(decoder);
    }
}

/* They would take hundreds of times their bytes, one by one. */
static void lines_without_records_come_together(void **state)
{
    enum { LINES = 300000 };
    struct buf text = {0};
    struct error error;

    (void)state;
    for (int i = 0; i < LINES; i++)
        buf_append_string(&text, i < LINES / 2 ? "\n" : "x\n");
    buf_append_string(&text, "{\"type\":\"deliver\",\"crankNum\":7,\"time\":1.5}\n");
    write_file(text.data, text.length);
    buf_free(&text);
    for (unsigned jobs = 1; jobs <= 3; jobs++) {
        struct decoder *decoder = decoder_open(path, jobs, &error);
        struct decoder_batch batch;
        uint64_t lines = 0;

        assert_non_null(decoder);
        while (decoder_next(decoder, false, &batch, &error) > 0) {
            assert_true(batch.count <= 3);
            for (size_t i = 0; i < batch.count; i++)
                lines += batch.lines[i].count;
        }
        assert_int_equal(lines, LINES + 1);
        decoder_close(decoder);
    }
}

/* A caller that has enough can close while threads are still at work. */
static void can_be_closed_in_the_middle(void **state)
{
    struct error error;

    (void)state;
    for (unsigned jobs = 1; jobs <= 4; jobs++) {
        struct decoder *decoder = decoder_open(path, jobs, &error);
        struct decoder_batch batch;

        assert_non_null(decoder);
        assert_int_equal(decoder_next(decoder, false, &batch, &error), 1);
        decoder_close(decoder);
        decoder = decoder_open(path, jobs, &error);
        assert_non_null(decoder);
        decoder_close(decoder);
    }
}

static int make_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_whole_lines_and_the_torn_one),
        cmocka_unit_test(lines_cross_blocks),
        cmocka_unit_test(gives_lines_by_themselves),
        cmocka_unit_test(drops_a_line_that_is_too_long),
        cmocka_unit_test(follows_a_file_that_grows),
        cmocka_unit_test(gzip_headers_can_be_cut_anywhere),
        cmocka_unit_test(decodes_in_order),
        cmocka_unit_test(lines_without_records_come_together),
        cmocka_unit_test(can_be_closed_in_the_middle),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
