/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/read/source.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/compression.h"

/*
 * A flight recorder: the file of a fixed size that Agoric's nodes write by default, in which
 * the newest records take the place of the oldest (npm @agoric/telemetry 0.7.0,
 * src/flight-recorder.js). It is read as a slogfile of the records that are in it.
 *
 *     offset 0   "AG-SLOG!"
 *            8   size of the arena
 *           16   where the oldest record begins, from the arena's beginning
 *           24   where the newest one ends; equal to the former if it is empty
 *           32   the arena, a ring of records
 *
 * Numbers have 8 bytes, the highest first. A record is its length and then its bytes: a
 * newline (mostly) and a line of JSON.
 *
 * The file may be written while it is read. When the writer has overtaken the reader, or
 * a crash left the oldest record overwritten, reading continues with the next whole record.
 */
#define RECORDER_MAGIC "AG-SLOG!"

enum {
    HEADER_SIZE = 32,
    LENGTH_SIZE = 8,
    /* is_beginning() reads a record's length, newline and bracket. */
    BEGINNING_SIZE = LENGTH_SIZE + 2,
    WINDOW_SIZE = 256 * 1024,
};

struct recorder {
    int fd;
    const char *path;
    uint64_t arena;      /* its size */
    uint64_t start, end; /* as the header had them last */
    uint64_t next;       /* offset in the arena of what is read next */
    uint64_t left;       /* of the current record */
    bool in_record, searching;
    uint64_t losses;
    size_t window_start, window_end; /* the unread bytes in the window */
    char window[WINDOW_SIZE];
};

static int recorder_read_at(const struct recorder *recorder, char *bytes, size_t size,
                            uint64_t offset, struct error *error)
{
    while (size > 0) {
        ssize_t got = pread(recorder->fd, bytes, size, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_system(error, errno, "%s: cannot read", recorder->path);
        if (got == 0)
            return error_set(error, ERROR_INPUT, "%s: the flight recorder is cut off",
                             recorder->path);
        bytes += got;
        size -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

static uint64_t be64_at(const char *bytes)
{
    uint64_t number;

    memcpy(&number, bytes, sizeof number);
    return be64toh(number);
}

static int recorder_read_header(struct recorder *recorder, struct error *error)
{
    char header[HEADER_SIZE];
    uint64_t arena, start, end;

    if (recorder_read_at(recorder, header, sizeof header, 0, error) != 0)
        return -1;
    arena = be64_at(header + 8);
    start = be64_at(header + 16);
    end = be64_at(header + 24);
    if (memcmp(header, RECORDER_MAGIC, strlen(RECORDER_MAGIC)) != 0 || arena <= LENGTH_SIZE ||
        arena > INT64_MAX - HEADER_SIZE || start >= arena || end >= arena ||
        (recorder->arena != 0 && arena != recorder->arena))
        return error_set(error, ERROR_INPUT, "%s: a flight recorder with a damaged header",
                         recorder->path);
    recorder->arena = arena;
    recorder->start = start;
    recorder->end = end;
    return 0;
}

/* Distance from the oldest record to `offset`, around the arena. */
static uint64_t recorder_distance(const struct recorder *recorder, uint64_t offset)
{
    return offset >= recorder->start ? offset - recorder->start
                                     : recorder->arena - recorder->start + offset;
}

/* Continues with the oldest record; a partly read line ends here. */
static void recorder_restart(struct recorder *recorder)
{
    recorder->losses++;
    recorder->next = recorder->start;
    recorder->window_start = recorder->window_end = 0;
    recorder->searching = true;
    recorder->left = 0;
}

/* The writer moves the oldest record's beginning before it writes over that record. */
static bool was_overtaken(const struct recorder *recorder, uint64_t from)
{
    return recorder_distance(recorder, from) > recorder_distance(recorder, recorder->end);
}

/*
 * Moves unread bytes to the window's beginning and reads more after them. 0 at the end, as
 * read(2).
 */
static int fill_window(struct recorder *recorder, struct error *error)
{
    size_t waiting = recorder->window_end - recorder->window_start;
    uint64_t from = recorder->next, upto;
    size_t size;

    if (recorder->next == recorder->end) {
        if (recorder_read_header(recorder, error) != 0)
            return -1;
        if (recorder->next == recorder->end)
            return 0;
        if (was_overtaken(recorder, recorder->next)) {
            recorder_restart(recorder);
            return 1;
        }
    }
    upto = recorder->end > recorder->next ? recorder->end : recorder->arena;
    memmove(recorder->window, recorder->window + recorder->window_start, waiting);
    size = WINDOW_SIZE - waiting;
    if (size > upto - recorder->next)
        size = upto - recorder->next;
    if (recorder_read_at(recorder, recorder->window + waiting, size, HEADER_SIZE + from, error) !=
        0)
        return -1;
    recorder->window_start = 0;
    recorder->window_end = waiting + size;
    recorder->next = (from + size) % recorder->arena;
    return 1;
}

/* Checks after a read that the writer did not overwrite what was read. */
static int check_window(struct recorder *recorder, uint64_t from, struct error *error)
{
    if (recorder_read_header(recorder, error) != 0)
        return -1;
    if (was_overtaken(recorder, from))
        recorder_restart(recorder);
    return 1;
}

static int recorder_read_on(struct recorder *recorder, struct error *error)
{
    uint64_t from = recorder->next;
    int got = fill_window(recorder, error);

    return got > 0 ? check_window(recorder, from, error) : got;
}

/* A record that stands for one that did not fit has no newline before it. */
static bool is_beginning(const struct recorder *recorder, const char *at)
{
    uint64_t length = be64_at(at);
    const char *line = at + LENGTH_SIZE + (at[LENGTH_SIZE] == '\n');

    return length > 1 && length <= recorder->arena - LENGTH_SIZE && *line == '{';
}

/*
 * Begins the record in the window. After a lost or overwritten record, searches for the next place
 * that can begin one.
 */
static int enter_record(struct recorder *recorder, struct error *error)
{
    for (;;) {
        const char *at = recorder->window + recorder->window_start;

        if (recorder->window_end - recorder->window_start < BEGINNING_SIZE) {
            int got = recorder_read_on(recorder, error);

            if (got <= 0)
                return got;
            continue;
        }
        if (is_beginning(recorder, at)) {
            size_t newline = at[LENGTH_SIZE] == '\n';

            recorder->left = be64_at(at) - newline;
            recorder->window_start += LENGTH_SIZE + newline;
            recorder->in_record = true;
            recorder->searching = false;
            return 1;
        }
        recorder->losses += !recorder->searching;
        recorder->searching = true;
        recorder->window_start++;
    }
}

/* Gives the next bytes of the record, or the newline after it. Returns as recorder_read(). */
static ssize_t give_bytes(struct recorder *recorder, char *bytes, size_t size, struct error *error)
{
    size_t waiting = recorder->window_end - recorder->window_start;

    if (recorder->left > 0 && waiting == 0) {
        int got = recorder_read_on(recorder, error);

        if (got <= 0)
            return got;
        waiting = recorder->window_end - recorder->window_start;
    }
    if (recorder->left == 0) {
        recorder->in_record = false;
        bytes[0] = '\n';
        return 1;
    }
    if (waiting > recorder->left)
        waiting = recorder->left;
    if (waiting > size)
        waiting = size;
    memcpy(bytes, recorder->window + recorder->window_start, waiting);
    recorder->window_start += waiting;
    recorder->left -= waiting;
    return (ssize_t)waiting;
}

/* Gives as many lines as fit: records are mostly short. */
static ssize_t recorder_read(struct recorder *recorder, char *bytes, size_t size,
                             struct error *error)
{
    size_t given = 0;

    while (given < size) {
        ssize_t got = recorder->in_record ? 1 : enter_record(recorder, error);

        if (got > 0)
            got = give_bytes(recorder, bytes + given, size - given, error);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        given += (size_t)got;
    }
    return (ssize_t)given;
}

static struct recorder *recorder_open(int fd, const char *path, struct error *error)
{
    struct recorder *recorder;
    struct stat status;

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        error_set(error, ERROR_INPUT, "%s: a flight recorder is read from a file, not from a pipe",
                  path);
        return NULL;
    }
    recorder = calloc(1, sizeof *recorder);
    if (recorder == NULL) {
        error_memory(error, "reading a flight recorder");
        return NULL;
    }
    recorder->fd = fd;
    recorder->path = path;
    if (recorder_read_header(recorder, error) != 0) {
        free(recorder);
        return NULL;
    }
    recorder->next = recorder->start;
    return recorder;
}

static uint64_t recorder_losses(const struct recorder *recorder)
{
    return recorder->losses;
}

static void recorder_close(struct recorder *recorder)
{
    free(recorder);
}

/* One call's output: isa-l counts in 32 bits. */
enum { LARGEST_STEP = 1 << 30 };

/*
 * isal_inflate() could read the headers too. But if a header comes in two pieces, it continues
 * with uninitialised flags and may reject good data.
 */
struct gzip {
    struct inflate_state inflate; /* with its tables some 90 KB */
    struct isal_gzip_header header;
    bool in_header;
};

static void begin_header(struct gzip *gzip)
{
    isal_gzip_header_init(&gzip->header);
    gzip->in_header = true;
}

static void *gzip_begin(void)
{
    struct gzip *gzip = malloc(sizeof *gzip);

    if (gzip == NULL)
        return NULL;
    isal_inflate_init(&gzip->inflate);
    begin_header(gzip);
    return gzip;
}

static const char *words_for(int code)
{
    switch (code) {
    case ISAL_INVALID_WRAPPER:
        return "no gzip header where one should be";
    case ISAL_INCORRECT_CHECKSUM:
        return "wrong checksum";
    default:
        return "no valid block";
    }
}

/* Several members can follow each other, as log rotation and `cat a.gz b.gz` leave them. */
static void next_member(struct gzip *gzip)
{
    isal_inflate_reset(&gzip->inflate);
    begin_header(gzip);
}

/* The data after it is compared with the checksum at the end. */
static int read_header(struct gzip *gzip)
{
    int code = isal_read_gzip_header(&gzip->inflate, &gzip->header);

    if (code == ISAL_DECOMP_OK) {
        gzip->in_header = false;
        gzip->inflate.crc_flag = ISAL_GZIP_NO_HDR_VER;
    }
    return code;
}

static int inflate_some(struct gzip *gzip, struct codec_input *input)
{
    struct inflate_state *inflate = &gzip->inflate;
    size_t step = input->length < LARGEST_STEP ? input->length : LARGEST_STEP;
    int code = ISAL_DECOMP_OK;

    inflate->next_in = (uint8_t *)(uintptr_t)input->at;
    inflate->avail_in = (uint32_t)step;
    if (gzip->in_header)
        code = read_header(gzip);
    if (code == ISAL_DECOMP_OK)
        code = isal_inflate(inflate);
    /* After damaged data isa-l may read beyond its input. */
    if (inflate->avail_in > step)
        return ISAL_INVALID_BLOCK;
    input->at += step - inflate->avail_in;
    input->length -= step - inflate->avail_in;
    return code;
}

static bool gzip_is_inside(const void *state)
{
    return ((const struct gzip *)state)->inflate.block_state != ISAL_BLOCK_FINISH;
}

static ssize_t gzip_decode(void *state, struct codec_input *input, char *bytes, size_t size,
                           const char **problem)
{
    struct gzip *gzip = state;
    uint32_t step = size < LARGEST_STEP ? (uint32_t)size : LARGEST_STEP;
    int code;

    if (!gzip_is_inside(gzip)) {
        if (input->length == 0)
            return 0;
        /* isa-l waits for a whole header before it judges it. */
        if (input->at[0] != codec_gzip.magic[0]) {
            *problem = words_for(ISAL_INVALID_WRAPPER);
            return -1;
        }
        next_member(gzip);
    }
    gzip->inflate.next_out = (uint8_t *)bytes;
    gzip->inflate.avail_out = step;
    code = inflate_some(gzip, input);
    if (code != ISAL_DECOMP_OK && code != ISAL_END_INPUT && code != ISAL_OUT_OVERFLOW) {
        *problem = words_for(code);
        return -1;
    }
    return (ssize_t)(step - gzip->inflate.avail_out);
}

static void gzip_end(void *state)
{
    free(state);
}

const struct codec codec_gzip = {
    .name = "gzip",
    .magic = "\x1f\x8b",
    .magic_length = 2,
    .begin = gzip_begin,
    .end = gzip_end,
    .decode = gzip_decode,
    .is_inside = gzip_is_inside,
};

struct zstd {
    ZSTD_DStream *stream;
    size_t wanted; /* result of the last call: 0 at the end of a frame */
};

static void *zstd_begin(void)
{
    struct zstd *zstd = calloc(1, sizeof *zstd);

    if (zstd == NULL)
        return NULL;
    zstd->stream = ZSTD_createDStream();
    if (zstd->stream != NULL)
        return zstd;
    free(zstd);
    return NULL;
}

static ssize_t zstd_decode(void *state, struct codec_input *input, char *bytes, size_t size,
                           const char **problem)
{
    struct zstd *zstd = state;
    ZSTD_outBuffer out = {bytes, size, 0};
    ZSTD_inBuffer in = {input->at, input->length, 0};

    /* Without input the stream may still hold output of the last block. */
    if (input->length == 0 && zstd->wanted == 0)
        return 0;
    zstd->wanted = ZSTD_decompressStream(zstd->stream, &out, &in);
    if (ZSTD_isError(zstd->wanted)) {
        *problem = ZSTD_getErrorName(zstd->wanted);
        return -1;
    }
    input->at += in.pos;
    input->length -= in.pos;
    return (ssize_t)out.pos;
}

static bool zstd_is_inside(const void *state)
{
    return ((const struct zstd *)state)->wanted != 0;
}

static void zstd_end(void *state)
{
    struct zstd *zstd = state;

    ZSTD_freeDStream(zstd->stream);
    free(zstd);
}

const struct codec codec_zstd = {
    .name = "Zstandard",
    .magic = "\x28\xb5\x2f\xfd",
    .magic_length = 4,
    .begin = zstd_begin,
    .end = zstd_end,
    .decode = zstd_decode,
    .is_inside = zstd_is_inside,
};

enum { MAGIC_SIZE = 8 };

struct source {
    const struct codec *codec; /* NULL: the bytes are as they are, or a recorder's */
    void *state;               /* the codec's */
    struct recorder *recorder; /* NULL: it is none */
    bool recognised;           /* the format is known */
    const char *path;          /* borrowed */
    int fd;
    char *in; /* SOURCE_INPUT_SIZE bytes, unread from in_start to in_end */
    size_t in_start, in_end;
    uint64_t position; /* how much of the file was read */
    uint64_t size;     /* of the file when it was opened; 0: not known */
    bool cut;
};

/* ---- the file ---- */

/* read(2), repeated after EINTR. */
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

/*
 * Reads if no input is left. Returns how many bytes are unread, 0 at the end of the file, -1 on
 * failure.
 */
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

static ssize_t source_read_plain(struct source *source, char *bytes, size_t size,
                                 struct error *error)
{
    size_t waiting = source->in_end - source->in_start;

    /* `in` holds only what was read to recognise the format. */
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

static int source_open_file(struct source *source, struct error *error)
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
        return error_set(error, ERROR_INPUT, "%s: is a directory, not a slogfile", source->path);
    if (S_ISREG(status.st_mode))
        source->size = (uint64_t)status.st_size;
    return 0;
}

/* Reads enough bytes to distinguish the formats, or the whole file. */
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

/* False if the file is still too short to decide. */
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

/* Leaves the format open if the file is still too short. */
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
    } else if (compression_refuse(source->path, source->in, source->in_end, error) != 0) {
        return -1;
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

void source_close(struct source *source)
{
    drop_format(source);
    recorder_close(source->recorder);
    if (source->fd > STDIN_FILENO)
        close(source->fd);
    free(source->in);
    free(source);
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
    if (source_open_file(source, error) != 0 || choose_format(source, error) != 0)
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
    return source->codec == NULL ? source_read_plain(source, bytes, size, error)
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
