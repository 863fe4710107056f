/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output/spool.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "base/output/temporary_file.h"

static const char *directory;

void spool_keep_in(const char *path)
{
    directory = path;
}

static int file_of(const struct spool *spool)
{
    return spool->file - 1;
}

/* ---- the file ---- */

static const char *place(void)
{
    return directory != NULL ? directory : temporary_file_place();
}

static int fail(struct error *error)
{
    return error_system(error, errno, "%s: a temporary file", place());
}

static int write_out(struct spool *spool, const void *bytes, size_t length)
{
    struct error *error = &spool->failure;

    if (spool->file == 0)
        spool->file = temporary_file_open_in(place(), error) + 1;
    if (spool->file == 0)
        return -1;
    if (lseek(file_of(spool), (off_t)spool->written, SEEK_SET) < 0 ||
        io_write_all(file_of(spool), bytes, length) != 0)
        return fail(error);
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

void spool_append(struct spool *spool, const void *bytes, size_t length)
{
    if (has_failed(spool) || (length > SPOOL_MEMORY - spool->tail.length && write_tail(spool) != 0))
        return;
    if (length > SPOOL_MEMORY)
        (void)write_out(spool, bytes, length);
    else if (buf_append(&spool->tail, bytes, length) != 0)
        error_memory(&spool->failure, "what a delivery did");
}

void spool_append_string(struct spool *spool, const char *string)
{
    spool_append(spool, string, strlen(string));
}

void spool_truncate(struct spool *spool, size_t length)
{
    if (length >= spool->written) {
        spool->tail.length = length - spool->written;
    } else {
        buf_clear(&spool->tail);
        spool->written = length;
    }
    if (length > 0)
        return;
    spool->failure.kind = ERROR_NONE;
    spool->tail.failed = false;
    if (spool->file != 0)
        close(file_of(spool));
    spool->file = 0;
}

/* ---- reading ---- */

/* As the functions that read return it. */
static int check(const struct spool *spool, struct error *error)
{
    if (has_failed(spool))
        *error = spool->failure;
    return has_failed(spool) ? -1 : 0;
}

int spool_each(struct spool *spool, int (*take)(void *context, struct iovec piece), void *context,
               struct error *error)
{
    char piece[64 * 1024];
    size_t at = 0;
    int result = 0;

    if (check(spool, error) != 0)
        return -1;
    while (result == 0 && at < spool->written) {
        const size_t left = spool->written - at;
        const ssize_t length =
            io_read_at(file_of(spool), piece, left < sizeof piece ? left : sizeof piece, (off_t)at);

        if (length == 0)
            errno = EIO;
        if (length <= 0)
            return fail(error);
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

    if (check(spool, error) != 0)
        return -1;
    *bytes = (struct iovec){spool->tail.data, spool->tail.length};
    if (spool->written == 0)
        return 0;
    if (write_tail(spool) != 0)
        return check(spool, error);
    pages = mmap(NULL, spool->written, PROT_READ, MAP_SHARED, file_of(spool), 0);
    if (pages == MAP_FAILED)
        return fail(error);
    *bytes = (struct iovec){pages, spool->written};
    return 0;
}

void spool_unmap(const struct spool *spool, struct iovec bytes)
{
    if (spool->written > 0)
        (void)munmap(bytes.iov_base, bytes.iov_len); /* cannot fail: it was mapped so */
}

void spool_free(struct spool *spool)
{
    spool_truncate(spool, 0);
    buf_free(&spool->tail);
}
