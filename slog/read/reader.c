/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/read/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum {
    /* Bytes read at once: few enough to stay in a core's cache until they are parsed. */
    READ_SIZE = 256 * 1024,
    /* A larger block is freed before it is used again. */
    KEEP_SIZE = 2 * READ_SIZE,
};

struct reader {
    struct source *source;
    struct buf rest; /* the beginning of a line whose end was not in the last block */
    bool skipping;   /* inside a line that is too long */
    /* For reader_next(): */
    struct reader_block block;
    size_t position; /* of the next line in it */
    uint64_t number;
};

struct reader *reader_open(const char *path, struct error *error)
{
    struct reader *reader = calloc(1, sizeof *reader);

    if (reader == NULL) {
        error_memory(error, "reading a slogfile");
        return NULL;
    }
    reader->source = source_open(path, error);
    if (reader->source == NULL) {
        free(reader);
        return NULL;
    }
    return reader;
}

void reader_close(struct reader *reader)
{
    if (reader == NULL)
        return;
    source_close(reader->source);
    buf_free(&reader->rest);
    reader_free_block(&reader->block);
    free(reader);
}

const struct source *reader_source(const struct reader *reader)
{
    return reader->source;
}

/*
 * True if only the held-back beginning of a line is gone, as after a write to a full disk was
 * undone.
 */
static bool only_rest_is_missing(const struct reader *reader, uint64_t missing)
{
    return source_is_plain(reader->source) && missing <= reader->rest.length;
}

int reader_go_back(struct reader *reader, struct error *error)
{
    uint64_t missing = source_missing(reader->source), position = source_position(reader->source);

    if (missing == 0)
        return 0;
    if (only_rest_is_missing(reader, missing)) {
        reader->rest.length -= missing;
        return source_go_back(reader->source, position - missing, error);
    }
    buf_clear(&reader->rest);
    reader->skipping = false;
    return source_go_back(reader->source, 0, error) == 0 ? 1 : -1;
}

void reader_free_block(struct reader_block *block)
{
    free(block->bytes);
    *block = (struct reader_block){0};
}

bool reader_next_line(const struct reader_block *block, size_t *position, struct scan_span *line)
{
    size_t left = block->length - *position;
    const char *at, *newline;

    if (left == 0)
        return false;
    at = block->bytes + *position;
    newline = memchr(at, '\n', left);
    *line = (struct scan_span){at, newline == NULL ? left : (size_t)(newline - at)};
    *position += newline == NULL ? left : line->length + 1;
    return true;
}

static int reserve_block(struct reader_block *block, size_t capacity, struct error *error)
{
    char *bytes;

    if (block->bytes != NULL && capacity <= block->capacity)
        return 0;
    bytes = realloc(block->bytes, capacity + SCAN_PADDING);
    if (bytes == NULL)
        return error_memory(error, "the lines of a slogfile");
    block->bytes = bytes;
    block->capacity = capacity;
    return 0;
}

/* Begins a block with the rest of the previous one. */
static int reader_begin_block(struct reader *reader, struct reader_block *block,
                              struct error *error)
{
    if (block->capacity > KEEP_SIZE)
        reader_free_block(block);
    block->torn = block->too_long = false;
    block->length = 0;
    if (reserve_block(block, reader->rest.length + READ_SIZE, error) != 0)
        return -1;
    if (reader->rest.length > 0)
        memcpy(block->bytes, reader->rest.data, reader->rest.length);
    block->length = reader->rest.length;
    buf_clear(&reader->rest);
    return 0;
}

/* Moves the bytes after `length` to the rest. */
static int reader_keep_rest(struct reader *reader, struct reader_block *block, size_t length,
                            struct error *error)
{
    if (buf_append(&reader->rest, block->bytes + length, block->length - length) != 0)
        return error_memory(error, "the lines of a slogfile");
    block->length = length;
    return 0;
}

/* Drops the rest of a line that is too long, up to its newline. */
static void skip_long_line(struct reader *reader, struct reader_block *block)
{
    const char *newline = memchr(block->bytes, '\n', block->length);
    size_t dropped = newline == NULL ? block->length : (size_t)(newline - block->bytes) + 1;

    reader->skipping = newline == NULL;
    block->length -= dropped;
    memmove(block->bytes, block->bytes + dropped, block->length);
}

/* The file ended without a newline. Returns as reader_next_block(). */
static int reader_end_block(struct reader *reader, bool follow, struct reader_block *block,
                            struct error *error)
{
    if (block->length == 0)
        return 0;
    if (follow)
        return reader_keep_rest(reader, block, 0, error);
    block->torn = true;
    return 1;
}

/* Reads until there is a whole line. Returns as reader_next_block(). */
static int fill_block(struct reader *reader, bool follow, struct reader_block *block,
                      struct error *error)
{
    for (;;) {
        const char *newline;
        ssize_t got;

        if (block->length >= READER_LONGEST_LINE) {
            block->too_long = true;
            reader->skipping = true;
            return 1;
        }
        if (reserve_block(block, block->length < READ_SIZE ? READ_SIZE : 2 * block->length,
                          error) != 0)
            return -1;
        got = source_read(reader->source, block->bytes + block->length,
                          block->capacity - block->length, error);
        if (got < 0)
            return -1;
        if (got == 0)
            return reader_end_block(reader, follow, block, error);
        block->length += (size_t)got;
        if (reader->skipping)
            skip_long_line(reader, block);
        newline = memrchr(block->bytes, '\n', block->length);
        if (newline != NULL)
            return reader_keep_rest(reader, block, (size_t)(newline - block->bytes) + 1, error) == 0
                       ? 1
                       : -1;
    }
}

int reader_next_block(struct reader *reader, bool follow, struct reader_block *block,
                      struct error *error)
{
    int result = reader_begin_block(reader, block, error);

    if (result == 0)
        result = fill_block(reader, follow, block, error);
    /* The padding must not depend on earlier contents of the memory. */
    if (result > 0)
        memset(block->bytes + block->length, 0, SCAN_PADDING);
    block->position = source_position(reader->source);
    return result;
}

int reader_next(struct reader *reader, bool follow, struct reader_line *line, struct error *error)
{
    struct scan_span text;
    int got;

    while (!reader_next_line(&reader->block, &reader->position, &text)) {
        got = reader_next_block(reader, follow, &reader->block, error);
        reader->position = 0;
        if (got <= 0) {
            reader->block.length = 0;
            return got;
        }
    }
    *line = (struct reader_line){.bytes = text.at,
                                 .length = text.length,
                                 .number = ++reader->number,
                                 .torn = reader->block.torn,
                                 .too_long = reader->block.too_long};
    return 1;
}
