/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/read/recorder.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADER_SIZE = 32,
    LENGTH_SIZE = 8,
    /* Of a record its length, its newline and the bracket of its object are looked at. */
    BEGINNING_SIZE = LENGTH_SIZE + 2,
    WINDOW_SIZE = 256 * 1024,
};

struct recorder {
    int fd;
    const char *path;
    uint64_t arena;      /* its size */
    uint64_t start, end; /* as the header had them last */
    uint64_t next;       /* offset in the arena of what is read next */
    bool looked;         /* the header was read since the last wait */
    uint64_t left;       /* of the record that is being given */
    bool in_record, searching;
    uint64_t losses;
    size_t window_start, window_end; /* bytes in the window that wait to be used */
    char window[WINDOW_SIZE];
};

static int read_at(const struct recorder *recorder, char *bytes, size_t size, uint64_t offset,
                   struct error *error)
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

static uint64_t number_at(const char *bytes)
{
    uint64_t number;

    memcpy(&number, bytes, sizeof number);
    return be64toh(number);
}

static int read_header(struct recorder *recorder, struct error *error)
{
    char header[HEADER_SIZE];
    uint64_t arena, start, end;

    if (read_at(recorder, header, sizeof header, 0, error) != 0)
        return -1;
    arena = number_at(header + 8);
    start = number_at(header + 16);
    end = number_at(header + 24);
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

/* How far `offset` is behind the oldest record, going round the arena. */
static uint64_t distance(const struct recorder *recorder, uint64_t offset)
{
    return offset >= recorder->start ? offset - recorder->start
                                     : recorder->arena - recorder->start + offset;
}

/* Goes on with the oldest record; a line that was begun ends where it is. */
static void begin_again(struct recorder *recorder)
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
    return distance(recorder, from) > distance(recorder, recorder->end);
}

/* Moves what waits to the window's beginning and reads on behind it. 0 at the end, as read(2). */
static int fill_window(struct recorder *recorder, struct error *error)
{
    size_t waiting = recorder->window_end - recorder->window_start;
    uint64_t from = recorder->next, upto;
    size_t size;

    if (recorder->next == recorder->end) {
        if (read_header(recorder, error) != 0)
            return -1;
        if (recorder->next == recorder->end)
            return 0;
        if (was_overtaken(recorder, recorder->next)) {
            begin_again(recorder);
            return 1;
        }
    }
    upto = recorder->end > recorder->next ? recorder->end : recorder->arena;
    memmove(recorder->window, recorder->window + recorder->window_start, waiting);
    size = WINDOW_SIZE - waiting;
    if (size > upto - recorder->next)
        size = upto - recorder->next;
    if (read_at(recorder, recorder->window + waiting, size, HEADER_SIZE + from, error) != 0)
        return -1;
    recorder->window_start = 0;
    recorder->window_end = waiting + size;
    recorder->next = (from + size) % recorder->arena;
    return 1;
}

/* After reading: whether it was still what the header says. */
static int check_window(struct recorder *recorder, uint64_t from, struct error *error)
{
    if (read_header(recorder, error) != 0)
        return -1;
    if (was_overtaken(recorder, from))
        begin_again(recorder);
    return 1;
}

static int read_on(struct recorder *recorder, struct error *error)
{
    uint64_t from = recorder->next;
    int got = fill_window(recorder, error);

    return got > 0 ? check_window(recorder, from, error) : got;
}

/* What stands for a record that was too big has no newline before it. */
static bool is_beginning(const struct recorder *recorder, const char *at)
{
    uint64_t length = number_at(at);
    const char *line = at + LENGTH_SIZE + (at[LENGTH_SIZE] == '\n');

    return length > 1 && length <= recorder->arena - LENGTH_SIZE && *line == '{';
}

/*
 * Enters the record that begins in the window. Behind one that was lost, and where the first
 * record was overwritten, the next place is looked for that can be a beginning.
 */
static int enter_record(struct recorder *recorder, struct error *error)
{
    for (;;) {
        const char *at = recorder->window + recorder->window_start;

        if (recorder->window_end - recorder->window_start < BEGINNING_SIZE) {
            int got = read_on(recorder, error);

            if (got <= 0)
                return got;
            continue;
        }
        if (is_beginning(recorder, at)) {
            size_t newline = at[LENGTH_SIZE] == '\n';

            recorder->left = number_at(at) - newline;
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

/* The next bytes of the record, or the newline behind it. As recorder_read(). */
static ssize_t give_bytes(struct recorder *recorder, char *bytes, size_t size, struct error *error)
{
    size_t waiting = recorder->window_end - recorder->window_start;

    if (recorder->left > 0 && waiting == 0) {
        int got = read_on(recorder, error);

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

/* As many lines as there is room for, since a record is mostly short. */
ssize_t recorder_read(struct recorder *recorder, char *bytes, size_t size, struct error *error)
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

struct recorder *recorder_open(int fd, const char *path, struct error *error)
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
    if (read_header(recorder, error) != 0) {
        free(recorder);
        return NULL;
    }
    recorder->next = recorder->start;
    return recorder;
}

uint64_t recorder_losses(const struct recorder *recorder)
{
    return recorder->losses;
}

void recorder_close(struct recorder *recorder)
{
    free(recorder);
}
