/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/read/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slog/read/codec.h"
#include "slog/read/recorder.h"

enum { MAGIC_SIZE = 8 };

struct source {
    const struct codec *codec; /* NULL: the bytes are as they are, or a recorder's */
    void *state;               /* the codec's */
    struct recorder *recorder; /* NULL: it is none */
    bool recognised;           /* the format is known */
    const char *path;          /* borrowed */
    int fd;
    char *in; /* SOURCE_INPUT_SIZE bytes, of which in_start to in_end wait to be used */
    size_t in_start, in_end;
    uint64_t position; /* how much of the file was read */
    uint64_t size;     /* of the file when it was opened; 0: not known */
    bool cut;
};

/* ---- the file ---- */

/* As read(2) again after EINTR, with words for the user. */
static ssize_t read_source_file(struct source *source, char *bytes, size_t size,
                                struct error *error)
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

/* Reads unless some input waits. How much waits then, 0 at the end of the file, -1 on failure. */
static ssize_t fill_input(struct source *source, struct error *error)
{
    ssize_t got;

    if (source->in_start < source->in_end)
        return (ssize_t)(source->in_end - source->in_start);
    got = read_source_file(source, source->in, SOURCE_INPUT_SIZE, error);
    source->in_start = 0;
    source->in_end = got > 0 ? (size_t)got : 0;
    return got;
}

/* ---- its formats ---- */

static ssize_t read_plain(struct source *source, char *bytes, size_t size, struct error *error)
{
    size_t waiting = source->in_end - source->in_start;

    /* Only what was read to recognise the format comes by way of `in`. */
    if (waiting == 0)
        return read_source_file(source, bytes, size, error);
    if (waiting > size)
        waiting = size;
    memcpy(bytes, source->in + source->in_start, waiting);
    source->in_start += waiting;
    return (ssize_t)waiting;
}

static ssize_t read_compressed(struct source *source, char *bytes, size_t size, struct error *error)
{
    const char *problem;

    source->cut = false;
    for (;;) {
        ssize_t filled = fill_input(source, error), got;
        struct codec_input input = {source->in + source->in_start,
                                    source->in_end - source->in_start};

        if (filled < 0)
            return -1;
        got = source->codec->decode(source->state, &input, bytes, size, &problem);
        source->in_start = source->in_end - input.length;
        if (got < 0)
            return error_set(error, ERROR_INPUT, "%s: damaged %s data: %s", source->path,
                             source->codec->name, problem);
        if (got > 0)
            return got;
        if (filled == 0) {
            source->cut = source->codec->is_inside(source->state);
            return 0;
        }
    }
}

/* ---- opening ---- */

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
    while (source->in_end < MAGIC_SIZE) {
        ssize_t got = read_source_file(source, source->in + source->in_end,
                                       SOURCE_INPUT_SIZE - source->in_end, error);

        if (got < 0)
            return -1;
        if (got == 0)
            return 0;
        source->in_end += (size_t)got;
    }
    return 0;
}

static ssize_t read_recorder(struct source *source, char *bytes, size_t size, struct error *error)
{
    ssize_t got = recorder_read(source->recorder, bytes, size, error);

    if (got > 0)
        source->position += (uint64_t)got;
    return got;
}

/* False as long as the file has only the beginning of a magic, and may be of any format. */
static bool recognise(const struct source *source, const struct codec **codec)
{
    static const struct codec *const codecs[] = {&codec_gzip, &codec_zstd};

    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        size_t length = codecs[i]->magic_length;
        size_t there = source->in_end < length ? source->in_end : length;

        *codec = codecs[i];
        if (memcmp(source->in, codecs[i]->magic, there) == 0)
            return there == length;
    }
    *codec = NULL;
    return true;
}

static bool is_recorder(const struct source *source)
{
    return source->in_end >= strlen(RECORDER_MAGIC) &&
           memcmp(source->in, RECORDER_MAGIC, strlen(RECORDER_MAGIC)) == 0;
}

static int begin_recorder(struct source *source, struct error *error)
{
    source->recorder = recorder_open(source->fd, source->path, error);
    source->in_start = source->in_end = 0;
    source->recognised = source->recorder != NULL;
    return source->recognised ? 0 : -1;
}

/* Leaves it open where the file does not say yet. */
static int choose_format(struct source *source, struct error *error)
{
    const struct codec *codec;

    if (read_magic(source, error) != 0)
        return -1;
    if (is_recorder(source))
        return begin_recorder(source, error);
    if (!recognise(source, &codec))
        return 0;
    if (codec != NULL) {
        source->state = codec->begin();
        if (source->state == NULL)
            return error_memory(error, "decompressing");
    }
    source->codec = codec;
    source->recognised = true;
    return 0;
}

static void drop_format(struct source *source)
{
    if (source->codec != NULL)
        source->codec->end(source->state);
    source->codec = NULL;
    source->recognised = false;
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
    if (!source->recognised && choose_format(source, error) != 0)
        return -1;
    if (!source->recognised)
        return 0;
    if (source->recorder != NULL)
        return read_recorder(source, bytes, size, error);
    return source->codec == NULL ? read_plain(source, bytes, size, error)
                                 : read_compressed(source, bytes, size, error);
}

uint64_t source_missing(const struct source *source)
{
    struct stat status;

    if (source->recorder != NULL || fstat(source->fd, &status) != 0 || !S_ISREG(status.st_mode) ||
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
    return source->codec == NULL && source->recorder == NULL;
}

uint64_t source_losses(const struct source *source)
{
    return source->recorder != NULL ? recorder_losses(source->recorder) : 0;
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
    recorder_close(source->recorder);
    if (source->fd > STDIN_FILENO)
        close(source->fd);
    free(source->in);
    free(source);
}
