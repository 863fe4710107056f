/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_STEP = 64 * 1024 };

static volatile sig_atomic_t abandoned;

void io_abandon_waits(void)
{
    abandoned = 1;
}

bool io_waits_are_abandoned(void)
{
    return abandoned != 0;
}

int io_open_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        /* Lower descriptors are open, so it gets this number. */
        if (open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd)
            return -1;
    }
    return 0;
}

int io_write_all(int fd, const void *bytes, size_t length)
{
    struct iovec piece = {.iov_base = (void *)bytes, .iov_len = length};

    return io_writev_all(fd, &piece, 1);
}

int io_writev_all(int fd, struct iovec *pieces, int count)
{
    while (count > 0) {
        /* For one piece write(2) is faster. */
        ssize_t written =
            count == 1 ? write(fd, pieces->iov_base, pieces->iov_len) : writev(fd, pieces, count);

        if (written < 0) {
            if (errno == EINTR && !abandoned)
                continue;
            return -1;
        }
        while (count > 0 && (size_t)written >= pieces->iov_len) {
            written -= (ssize_t)pieces->iov_len;
            pieces++;
            count--;
        }
        if (count > 0) {
            pieces->iov_base = (char *)pieces->iov_base + written;
            pieces->iov_len -= (size_t)written;
        }
    }
    return 0;
}

ssize_t io_read_at(int fd, void *bytes, size_t length, off_t at)
{
    size_t done = 0;

    while (done < length) {
        const ssize_t got = pread(fd, (char *)bytes + done, length - done, at + (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

int io_copy_all(int from, int to)
{
    char piece[READ_STEP];
    ssize_t got;

    for (off_t at = 0; (got = io_read_at(from, piece, sizeof piece, at)) > 0; at += got)
        if (io_write_all(to, piece, (size_t)got) != 0)
            return -1;
    return got == 0 ? 0 : -1;
}

int io_unreadable(const char *path, struct error *error)
{
    const bool host = errno == EMFILE || errno == ENFILE || errno == ENOMEM;

    return error_set(error, host ? ERROR_SYSTEM : ERROR_INPUT, "%s: %m", path);
}

int io_read_open(int fd, const char *path, size_t limit, struct buf *content, struct error *error)
{
    size_t start = content->length;

    for (;;) {
        ssize_t got;

        if (content->length - start > limit)
            return error_set(error, ERROR_INPUT, "%s: longer than %zu bytes", path, limit);
        if (buf_reserve(content, READ_STEP) != 0)
            return error_memory(error, path);
        got = read(fd, content->data + content->length, READ_STEP);
        if (got == 0)
            return 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return io_unreadable(path, error);
        content->length += (size_t)got;
    }
}

static const char *file_kind_name(mode_t mode)
{
    return S_ISDIR(mode)    ? "directory"
           : S_ISFIFO(mode) ? "FIFO"
           : S_ISLNK(mode)  ? "symbolic link"
           : S_ISSOCK(mode) ? "socket"
                            : "device";
}

static int refuse_kind(const char *path, mode_t mode, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: is a %s, not a file", path, file_kind_name(mode));
}

int io_check_file(const char *path, struct error *error)
{
    struct stat status;

    if (lstat(path, &status) != 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : io_unreadable(path, error);
    return S_ISREG(status.st_mode) ? 0 : refuse_kind(path, status.st_mode, error);
}

int io_refuse_fifo(const char *path, struct error *error)
{
    struct stat status;

    if (stat(path, &status) != 0 || !S_ISFIFO(status.st_mode) || strcmp(path, "/dev/stdin") == 0 ||
        strncmp(path, "/dev/fd/", strlen("/dev/fd/")) == 0 ||
        strncmp(path, "/proc/", strlen("/proc/")) == 0)
        return 0;
    return refuse_kind(path, status.st_mode, error);
}

static int check_opened(int fd, const char *path, uint64_t limit, struct error *error)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return error_system(error, errno, "%s", path);
    if (!S_ISREG(status.st_mode))
        return refuse_kind(path, status.st_mode, error);
    if ((uint64_t)status.st_size > limit)
        return error_set(error, ERROR_INPUT, "%s: longer than %" PRIu64 " bytes", path, limit);
    return 0;
}

int io_open_file(int directory, const char *path, int flags, uint64_t limit, int *fd,
                 struct error *error)
{
    *fd = openat(directory, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);
    if (*fd < 0 && errno == ENOENT)
        return 0;
    if (*fd < 0 && errno == ELOOP)
        return refuse_kind(path, S_IFLNK, error);
    if (*fd < 0 && errno == ENXIO)
        return refuse_kind(path, S_IFSOCK, error);
    if (*fd < 0)
        return io_unreadable(path, error);
    if (check_opened(*fd, path, limit, error) == 0)
        return 0;
    close(*fd);
    *fd = -1;
    return -1;
}

int io_read_file(const char *path, size_t limit, struct buf *content, struct error *error)
{
    struct stat status;
    int fd, result;

    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return io_unreadable(path, error);
    if (fstat(fd, &status) != 0)
        result = error_system(error, errno, "%s", path);
    else if (S_ISDIR(status.st_mode))
        result = error_set(error, ERROR_INPUT, "%s: is a directory, not a file", path);
    else if (S_ISREG(status.st_mode) && (uintmax_t)status.st_size > limit)
        result = error_set(error, ERROR_INPUT, "%s: longer than %zu bytes", path, limit);
    else
        result = io_read_open(fd, path, limit, content, error);
    close(fd);
    return result;
}

int io_fail_stdout(const char *text, struct error *error)
{
    const int number = errno;

    if (number == EPIPE) {
        signal(SIGPIPE, SIG_DFL);
        (void)raise(SIGPIPE);
    }
    return error_system(error, number, "%s", text);
}
