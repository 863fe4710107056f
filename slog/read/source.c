/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/read/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slog/read/source_internal.h"

/* ---- the file ----------------------------------------------------------- */

/* As read(2) again after EINTR, with words for the user. */
static ssize_t read_file(struct source *source, char *bytes, size_t size, struct error *error)
{
    for (;;) {
        ssize_t got = read(source->fd, bytes, size);

        if (got >= 0) {
            source->position += (uint64_t)got;
            return got;
        }
        if (errno != EINTR)
            return error_system(error, errno, "%s: cannot read", source->path);
    }
}

ssize_t source_fill(struct source *source, struct error *error)
{
    ssize_t got;

    if (source->in_start < source->in_end)
        return (ssize_t)(source->in_end - source->in_start);
    got = read_file(source, source->in, SOURCE_INPUT_SIZE, error);
    source->in_start = 0;
    source->in_end = got > 0 ? (size_t)got : 0;
    return got;
}

/* ---- plain bytes -------------------------------------------------------- */

static ssize_t plain_read(struct source *source, char *bytes, size_t size, struct error *error)
{
    size_t waiting = source->in_end - source->in_start;

    /* Only what was read to recognise the format comes by way of `in`. */
    if (waiting == 0)
        return read_file(source, bytes, size, error);
    if (waiting > size)
        waiting = size;
    memcpy(bytes, source->in + source->in_start, waiting);
    source->in_start += waiting;
    return (ssize_t)waiting;
}

const struct source_format source_plain = {.read = plain_read};

/* ---- opening ------------------------------------------------------------ */

static int open_file(struct source *source, struct error *error)
{
    struct stat status;

    if (strcmp(source->path, "-") == 0) {
        source->path = "standard input";
        source->fd = STDIN_FILENO;
        return 0;
    }
    source->fd = open(source->path, O_RDONLY | O_CLOEXEC);
    if (source->fd < 0)
        return error_set(error, ERROR_INPUT, "%s: %m", source->path);
    if (fstat(source->fd, &status) != 0)
        return error_system(error, errno, "%s", source->path);
    if (S_ISDIR(status.st_mode))
        return error_set(error, ERROR_INPUT, "%s: is a folder, not a slogfile", source->path);
    if (S_ISREG(status.st_mode))
        source->size = (uint64_t)status.st_size;
    return 0;
}

/* Enough bytes to tell the formats apart; fewer only when the file has fewer. */
static int read_magic(struct source *source, struct error *error)
{
    while (source->in_end < SOURCE_MAGIC_SIZE) {
        ssize_t got = read_file(source, source->in + source->in_end,
                                SOURCE_INPUT_SIZE - source->in_end, error);

        if (got < 0)
            return -1;
        if (got == 0)
            return 0;
        source->in_end += (size_t)got;
    }
    return 0;
}

/* NULL as long as the file has nothing but the beginning of a magic, and may be of any format. */
static const struct source_format *recognise(const struct source *source)
{
    static const struct {
        const struct source_format *format;
        const char *magic;
        size_t length;
    } formats[] = {{&source_gzip, "\x1f\x8b", 2}, {&source_zstd, "\x28\xb5\x2f\xfd", 4}};

    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t length = formats[i].length;
        size_t there = source->in_end < length ? source->in_end : length;

        if (memcmp(source->in, formats[i].magic, there) == 0)
            return there < length ? NULL : formats[i].format;
    }
    return &source_plain;
}

/* Leaves it open where the file does not say yet. */
static int choose_format(struct source *source, struct error *error)
{
    if (read_magic(source, error) != 0)
        return -1;
    source->format = recognise(source);
    if (source->format == NULL || source->format->begin == NULL)
        return 0;
    return source->format->begin(source, error);
}

static void drop_format(struct source *source)
{
    if (source->state != NULL)
        source->format->end(source);
    source->state = NULL;
    source->format = NULL;
}

struct source *source_open(const char *path, struct error *error)
{
    struct source *source = calloc(1, sizeof *source);

    if (source == NULL) {
        error_memory(error, "reading a slogfile");
        return NULL;
    }
    source->path = path;
    source->fd = -1;
    source->in = malloc(SOURCE_INPUT_SIZE);
    if (source->in == NULL) {
        error_memory(error, "reading a slogfile");
        goto close;
    }
    if (open_file(source, error) != 0 || choose_format(source, error) != 0)
        goto close;
    return source;
close:
    source_close(source);
    return NULL;
}

ssize_t source_read(struct source *source, char *bytes, size_t size, struct error *error)
{
    if (source->format == NULL && choose_format(source, error) != 0)
        return -1;
    return source->format == NULL ? 0 : source->format->read(source, bytes, size, error);
}

uint64_t source_missing(const struct source *source)
{
    struct stat status;

    if (fstat(source->fd, &status) != 0 || !S_ISREG(status.st_mode) ||
        (uint64_t)status.st_size >= source->position)
        return 0;
    return source->position - (uint64_t)status.st_size;
}

int source_go_back(struct source *source, uint64_t position, struct error *error)
{
    if (lseek(source->fd, (off_t)position, SEEK_SET) < 0)
        return error_system(error, errno, "%s: cannot read", source->path);
    source->position = position;
    source->in_start = source->in_end = 0;
    source->cut = false;
    if (position == 0)
        drop_format(source);
    return 0;
}

bool source_is_plain(const struct source *source)
{
    return source->format == NULL || source->format == &source_plain;
}

uint64_t source_position(const struct source *source)
{
    return source->position;
}

uint64_t source_size(const struct source *source)
{
    return source->size;
}

int source_is_cut(const struct source *source)
{
    return source->cut;
}

void source_close(struct source *source)
{
    drop_format(source);
    if (source->fd > STDIN_FILENO)
        close(source->fd);
    free(source->in);
    free(source);
}
