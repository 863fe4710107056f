/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/recording/recording_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/netstring.h"

enum { INPUT_SIZE = 64 * 1024 };

struct recording_file {
    const char *path; /* borrowed */
    int fd;
    struct netstring_decoder decoder;
    int64_t records; /* begun so far, the head too */
    size_t start, end;
    char input[INPUT_SIZE];
};

static ssize_t read_some(int fd, char *bytes, size_t size)
{
    ssize_t got;

    do
        got = read(fd, bytes, size);
    while (got < 0 && errno == EINTR);
    return got;
}

bool recording_file_is_one(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char bytes[64];
    ssize_t got;

    if (fd < 0)
        return false;
    got = read_some(fd, bytes, sizeof bytes);
    close(fd);
    return got > 0 && recording_begins(bytes, (size_t)got);
}

/* As recording_file_next(), of whatever record. */
static int next_record(struct recording_file *file, struct iovec *payload, struct error *error)
{
    enum netstring_result decoded = NETSTRING_MORE;

    file->records++;
    while (decoded == NETSTRING_MORE) {
        size_t used;

        if (file->start == file->end) {
            ssize_t got = read_some(file->fd, file->input, sizeof file->input);

            if (got < 0)
                return error_set(error, ERROR_INPUT, "%s: %m", file->path);
            if (got == 0)
                return 0;
            file->start = 0;
            file->end = (size_t)got;
        }
        decoded = netstring_decode(&file->decoder, file->input + file->start,
                                   file->end - file->start, &used, payload, error);
        file->start += used;
    }
    return decoded == NETSTRING_FRAME ? 1 : -1;
}

static int name_place(const struct recording_file *file, struct error *error)
{
    return error_prefix(error, "%s: record %" PRId64, file->path, file->records);
}

struct recording_file *recording_file_open(const char *path, struct recording_head *head,
                                           struct error *error)
{
    struct recording_file *file = calloc(1, sizeof *file);
    struct iovec payload;
    int result;

    if (file == NULL) {
        error_memory(error, path);
        return NULL;
    }
    file->path = path;
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    /* As much longer than a frame may be as a record is. */
    netstring_decoder_init(&file->decoder, NETSTRING_CAP_DEFAULT + RECORDING_PREFIX_SIZE);
    if (file->fd < 0) {
        error_set(error, ERROR_INPUT, "%s: %m", path);
        goto close_file;
    }
    result = next_record(file, &payload, error);
    if (result == 0)
        error_set(error, ERROR_INPUT, "it ends before its head does");
    if (result != 1 || recording_take_head(head, payload, error) != 0) {
        name_place(file, error);
        goto close_file;
    }
    return file;
close_file:
    recording_file_close(file);
    return NULL;
}

int recording_file_next(struct recording_file *file, struct recorded_frame *frame,
                        struct error *error)
{
    struct iovec payload;
    int result = next_record(file, &payload, error);

    if (result == 1 && recording_take_frame(frame, payload, error) != 0)
        result = -1;
    return result < 0 ? name_place(file, error) : result;
}

bool recording_file_is_torn(const struct recording_file *file)
{
    return !netstring_between_frames(&file->decoder);
}

void recording_file_close(struct recording_file *file)
{
    if (file == NULL)
        return;
    if (file->fd >= 0)
        close(file->fd);
    netstring_decoder_free(&file->decoder);
    free(file);
}
