/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"

const char *temporary_file_place(void)
{
    const char *place = getenv("TMPDIR");

    return place != NULL && place[0] != '\0' ? place : "/tmp";
}

/* For file systems without unnamed files, such as NFS. */
static int open_and_unlink(const char *place)
{
    char path[PATH_MAX];
    int fd;

    if (snprintf(path, sizeof path, "%s/gaspipe-XXXXXX", place) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path); /* on failure a file is left over, without further harm */
    return fd;
}

static int temporary_file_open_in(const char *place, struct error *error);

int temporary_file_open(struct error *error)
{
    return temporary_file_open_in(temporary_file_place(), error);
}

/* Opens an unnamed file in another directory. */
static int temporary_file_open_in(const char *place, struct error *error)
{
    int fd = open(place, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
        fd = open_and_unlink(place);
    if (fd >= 0)
        return fd;
    return error_system(error, errno, "cannot make a file in %s", place);
}

static const char *directory;

void spool_keep_in(const char *path)
{
    directory = path;
}

static int spool_descriptor(const struct spool *spool)
{
    return spool->file - 1;
}

/* ---- the file ---- */

static const char *spool_directory(void)
{
    return directory != NULL ? directory : temporary_file_place();
}

static int spool_fail(struct error *error)
{
    return error_system(error, errno, "%s: a temporary file", spool_directory());
}

static int write_out(struct spool *spool, const void *bytes, size_t length)
{
    struct error *error = &spool->failure;

    if (spool->file == 0)
        spool->file = temporary_file_open_in(spool_directory(), error) + 1;
    if (spool->file == 0)
        return -1;
    if (lseek(spool_descriptor(spool), (off_t)spool->written, SEEK_SET) < 0 ||
        io_write_all(spool_descriptor(spool), bytes, length) != 0)
        return spool_fail(error);
    spool->written += length;
    return 0;
}

static int write_tail(struct spool *spool)
{
    if (write_out(spool, spool->tail.data, spool->tail.length) != 0)
        return -1;
    buf_clear(&spool->tail);
    return 0;
}

/* ---- writing ---- */

static bool has_failed(const struct spool *spool)
{
    return spool->failure.kind != ERROR_NONE;
}

void spool_append_slowly(struct spool *spool, const void *bytes, size_t length)
{
    if (has_failed(spool) || (length > SPOOL_MEMORY - spool->tail.length && write_tail(spool) != 0))
        return;
    if (length > SPOOL_MEMORY)
        (void)write_out(spool, bytes, length);
    else if (buf_append(&spool->tail, bytes, length) != 0)
        error_memory(&spool->failure, "the output of a delivery");
}

void spool_append_string(struct spool *spool, const char *string)
{
    spool_append(spool, string, strlen(string));
}

static void drop_file(struct spool *spool)
{
    if (spool->file != 0)
        close(spool_descriptor(spool));
    spool->file = 0;
    spool->written = spool->taken = 0;
}

void spool_truncate(struct spool *spool, size_t length)
{
    const size_t end = spool->taken + length;

    if (end >= spool->written) {
        spool->tail.length = end - spool->written;
    } else {
        buf_clear(&spool->tail);
        spool->written = end;
    }
    if (length > 0)
        return;
    spool->failure.kind = ERROR_NONE;
    spool->tail.failed = false;
    drop_file(spool);
}

void spool_consume(struct spool *spool, size_t length)
{
    const size_t in_file = spool->written - spool->taken;

    if (length < in_file) {
        spool->taken += length;
        return;
    }
    drop_file(spool);
    buf_consume(&spool->tail, length - in_file);
}

/* ---- reading ---- */

int spool_check(const struct spool *spool, struct error *error)
{
    if (has_failed(spool))
        *error = spool->failure;
    return has_failed(spool) ? -1 : 0;
}

/* All of the file's bytes from `at` on, or errno. */
static bool read_file(const struct spool *spool, size_t at, char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t got = io_read_at(spool_descriptor(spool), bytes, length, (off_t)at);

        if (got == 0)
            errno = EIO;
        if (got <= 0)
            return false;
        bytes += got;
        at += (size_t)got;
        length -= (size_t)got;
    }
    return true;
}

int spool_read(const struct spool *spool, size_t place, void *bytes, size_t length,
               struct error *error)
{
    const size_t in_file = spool->written - spool->taken;
    const size_t first = place >= in_file ? 0 : in_file - place < length ? in_file - place : length;

    if (spool_check(spool, error) != 0)
        return -1;
    if (first > 0 && !read_file(spool, spool->taken + place, bytes, first))
        return spool_fail(error);
    if (length > first)
        memcpy((char *)bytes + first, spool->tail.data + (place + first - in_file), length - first);
    return 0;
}

/* Moves the file's bytes from `place` on, the last ones first. */
static bool shift(const struct spool *spool, size_t place, size_t by)
{
    char piece[64 * 1024];
    size_t end = spool->written;

    while (end > place) {
        const size_t length = end - place < sizeof piece ? end - place : sizeof piece;

        end -= length;
        if (!read_file(spool, end, piece, length) ||
            lseek(spool_descriptor(spool), (off_t)(end + by), SEEK_SET) < 0 ||
            io_write_all(spool_descriptor(spool), piece, length) != 0)
            return false;
    }
    return true;
}

void spool_insert(struct spool *spool, size_t place, const void *bytes, size_t length)
{
    size_t end;

    place += spool->taken;
    if (spool->file == 0 && spool_length(spool) > 0) /* so that only one case is left */
        (void)write_tail(spool);
    if (place >= spool->written + spool->tail.length) {
        spool_append(spool, bytes, length);
        return;
    }
    if (has_failed(spool) || (spool->tail.length > 0 && write_tail(spool) != 0))
        return;
    end = spool->written + length;
    if (!shift(spool, place, length)) {
        spool_fail(&spool->failure);
        return;
    }
    spool->written = place;
    if (write_out(spool, bytes, length) == 0)
        spool->written = end;
}

int spool_each(struct spool *spool, int (*take)(void *context, struct iovec piece), void *context,
               struct error *error)
{
    char piece[64 * 1024];
    size_t at = spool->taken;
    int result = 0;

    if (spool_check(spool, error) != 0)
        return -1;
    while (result == 0 && at < spool->written) {
        const size_t left = spool->written - at;
        const ssize_t length = io_read_at(spool_descriptor(spool), piece,
                                          left < sizeof piece ? left : sizeof piece, (off_t)at);

        if (length == 0)
            errno = EIO;
        if (length <= 0)
            return spool_fail(error);
        result = take(context, (struct iovec){piece, (size_t)length});
        at += (size_t)length;
    }
    if (result == 0 && spool->tail.length > 0)
        result = take(context, (struct iovec){spool->tail.data, spool->tail.length});
    return result;
}

int spool_map(struct spool *spool, struct iovec *bytes, struct error *error)
{
    void *pages;

    if (spool_check(spool, error) != 0)
        return -1;
    *bytes = (struct iovec){spool->tail.data, spool->tail.length};
    if (spool->written == 0)
        return 0;
    if (write_tail(spool) != 0)
        return spool_check(spool, error);
    pages = mmap(NULL, spool->written, PROT_READ, MAP_SHARED, spool_descriptor(spool), 0);
    if (pages == MAP_FAILED)
        return spool_fail(error);
    *bytes = (struct iovec){(char *)pages + spool->taken, spool->written - spool->taken};
    return 0;
}

void spool_unmap(const struct spool *spool, struct iovec bytes)
{
    if (spool->written > 0)
        /* cannot fail: the range was mapped like this */
        (void)munmap((char *)bytes.iov_base - spool->taken, bytes.iov_len + spool->taken);
}

void spool_free(struct spool *spool)
{
    spool_truncate(spool, 0);
    buf_free(&spool->tail);
}
