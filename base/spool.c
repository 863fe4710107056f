/* SPDX-License-Identifier: Apache-2.0 */
#include "base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"

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

/* Where the file system makes none without a name. */
static int make_and_unlink(const char *path)
{
    struct buf name = {0};
    int file = -1;

    buf_printf(&name, "%s/gaspipe.spool.XXXXXX", path);
    if (buf_string(&name) == NULL)
        errno = ENOMEM;
    else
        file = mkostemp(name.data, O_CLOEXEC);
    if (file >= 0)
        (void)unlink(name.data); /* it is left behind if that fails, which is all */
    buf_free(&name);
    return file;
}

static int open_file(void)
{
    const char *path = directory != NULL ? directory : getenv("TMPDIR");
    int file;

    if (path == NULL || *path == '\0')
        path = P_tmpdir;
    file = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT))
        file = make_and_unlink(path);
    return file;
}

static int write_out(struct spool *spool, const void *bytes, size_t length)
{
    if (spool->file == 0) {
        int file = open_file();

        if (file < 0)
            return -1;
        spool->file = file + 1;
    }
    if (lseek(file_of(spool), (off_t)spool->written, SEEK_SET) < 0 ||
        io_write_all(file_of(spool), bytes, length) != 0)
        return -1;
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

void spool_append(struct spool *spool, const void *bytes, size_t length)
{
    int result = 0;

    if (spool->failure != 0)
        return;
    errno = ENOMEM;
    if (length > SPOOL_MEMORY - spool->tail.length)
        result = write_tail(spool);
    if (result == 0 && length > SPOOL_MEMORY)
        result = write_out(spool, bytes, length);
    else if (result == 0)
        result = buf_append(&spool->tail, bytes, length);
    if (result != 0)
        spool->failure = errno;
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
    spool->failure = 0;
    spool->tail.failed = false;
    if (spool->file != 0)
        close(file_of(spool));
    spool->file = 0;
}

/* ---- reading ---- */

static int fail(int cause, struct error *error)
{
    if (cause == ENOMEM)
        return error_memory(error, "what a delivery did");
    return error_system(error, cause, "%s: a temporary file",
                        directory != NULL ? directory : P_tmpdir);
}

int spool_each(struct spool *spool, int (*take)(void *context, struct iovec piece), void *context,
               struct error *error)
{
    char piece[64 * 1024];
    size_t at = 0;
    int result = 0;

    if (spool->failure != 0)
        return fail(spool->failure, error);
    while (result == 0 && at < spool->written) {
        const size_t left = spool->written - at;
        const ssize_t length =
            io_read_at(file_of(spool), piece, left < sizeof piece ? left : sizeof piece, (off_t)at);

        if (length <= 0)
            return fail(length < 0 ? errno : EIO, error);
        result = take(context, (struct iovec){piece, (size_t)length});
        at += (size_t)length;
    }
    if (result == 0 && spool->tail.length > 0)
        result = take(context, (struct iovec){spool->tail.data, spool->tail.length});
    return result;
}

int spool_map(struct spool *spool, struct iovec *bytes, struct error *error)
{
    void *place;

    if (spool->failure != 0)
        return fail(spool->failure, error);
    *bytes = (struct iovec){spool->tail.data, spool->tail.length};
    if (spool->written == 0)
        return 0;
    if (write_tail(spool) != 0)
        return fail(errno, error);
    place = mmap(NULL, spool->written, PROT_READ, MAP_SHARED, file_of(spool), 0);
    if (place == MAP_FAILED)
        return fail(errno, error);
    *bytes = (struct iovec){place, spool->written};
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
