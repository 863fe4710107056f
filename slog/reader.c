/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/reader.h"

#include <stdlib.h>
#include <string.h>

#include "slog/scan.h"
#include "slog/source.h"

enum { FIRST_CAPACITY = 512 * 1024 };

struct reader {
    struct source *source;
    char *data; /* capacity + SCAN_PADDING bytes */
    size_t capacity;
    size_t start;   /* where the next line begins */
    size_t end;     /* behind what was read */
    size_t scanned; /* no newline from start up to here */
    uint64_t number;
    bool skipping; /* the rest of a line that was too long */
    bool at_end;
};

struct reader *reader_open(const char *path, struct error *error)
{
    struct reader *reader = calloc(1, sizeof *reader);

    if (reader == NULL)
        goto memory;
    reader->capacity = FIRST_CAPACITY;
    /* Zeroed, so that what the padding holds never depends on old memory. */
    reader->data = calloc(1, reader->capacity + SCAN_PADDING);
    if (reader->data == NULL)
        goto memory;
    reader->source = source_open(path, error);
    if (reader->source == NULL)
        goto free;
    return reader;
memory:
    error_memory(error, "reading a slogfile");
free:
    reader_close(reader);
    return NULL;
}

void reader_close(struct reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->source != NULL)
        source_close(reader->source);
    free(reader->data);
    free(reader);
}

bool reader_is_cut(const struct reader *reader)
{
    return source_is_cut(reader->source);
}

bool reader_can_grow(const struct reader *reader)
{
    return source_can_grow(reader->source);
}

static int grow(struct reader *reader, struct error *error)
{
    size_t capacity = reader->capacity * 2;
    char *data = realloc(reader->data, capacity + SCAN_PADDING);

    if (data == NULL)
        return error_memory(error, "a long line of a slogfile");
    memset(data + reader->capacity, 0, capacity + SCAN_PADDING - reader->capacity);
    reader->data = data;
    reader->capacity = capacity;
    return 0;
}

/* Moves what is left to the front and reads more behind it. As source_read(). */
static ssize_t read_more(struct reader *reader, struct error *error)
{
    size_t left = reader->end - reader->start;
    ssize_t got;

    if (reader->start > 0) {
        memmove(reader->data, reader->data + reader->start, left);
        reader->scanned -= reader->start;
        reader->start = 0;
        reader->end = left;
    }
    if (left == reader->capacity && grow(reader, error) != 0)
        return -1;
    got = source_read(reader->source, reader->data + left, reader->capacity - left, error);
    if (got > 0)
        reader->end += (size_t)got;
    return got;
}

static int give_line(struct reader *reader, size_t end, size_t next, struct reader_line *line)
{
    *line = (struct reader_line){.bytes = reader->data + reader->start,
                                 .length = end - reader->start,
                                 .number = ++reader->number};
    reader->start = next;
    reader->scanned = next;
    return 1;
}

/* Takes what is there of a line that is too long; the rest will be skipped. */
static int give_long_line(struct reader *reader, struct reader_line *line)
{
    give_line(reader, reader->end, reader->end, line);
    line->too_long = true;
    reader->skipping = true;
    return 1;
}

static int give_torn_line(struct reader *reader, struct reader_line *line)
{
    give_line(reader, reader->end, reader->end, line);
    line->torn = true;
    return 1;
}

/* The next newline in what was read, as an offset; SIZE_MAX when there is none yet. */
static size_t find_newline(struct reader *reader)
{
    const char *from = reader->data + reader->scanned;
    const char *newline = memchr(from, '\n', reader->end - reader->scanned);

    if (newline != NULL)
        return (size_t)(newline - reader->data);
    reader->scanned = reader->end;
    return SIZE_MAX;
}

static void skip_to(struct reader *reader, size_t offset)
{
    reader->start = offset;
    reader->scanned = offset;
}

int reader_next(struct reader *reader, bool follow, struct reader_line *line, struct error *error)
{
    for (;;) {
        size_t newline = find_newline(reader);
        ssize_t got;

        if (newline != SIZE_MAX && !reader->skipping)
            return give_line(reader, newline, newline + 1, line);
        if (newline != SIZE_MAX) {
            reader->skipping = false;
            skip_to(reader, newline + 1);
            continue;
        }
        if (reader->skipping)
            skip_to(reader, reader->end);
        if (reader->end - reader->start >= READER_LONGEST_LINE)
            return give_long_line(reader, line);
        got = read_more(reader, error);
        if (got < 0)
            return -1;
        if (got > 0)
            continue;
        if (follow || reader->start == reader->end)
            return 0;
        return give_torn_line(reader, line);
    }
}
