/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/runtime/heap_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

int heap_file_new(struct error *error)
{
    int fd = memfd_create("gaspipe-snapshot", MFD_CLOEXEC);

    if (fd < 0)
        return error_system(error, errno, "cannot make a file for a snapshot");
    return fd;
}

int heap_file_check(int fd, struct iovec reply, struct error *error)
{
    struct stat status;
    char size[24];

    if (fstat(fd, &status) != 0 || lseek(fd, 0, SEEK_SET) != 0)
        return error_system(error, errno, "cannot read a snapshot");
    if (status.st_size == 0)
        return error_set(error, ERROR_INPUT, "the worker reported a snapshot but wrote none");
    snprintf(size, sizeof size, "%" PRId64, (int64_t)status.st_size);
    if (reply.iov_len > 0 &&
        (reply.iov_len != strlen(size) || memcmp(reply.iov_base, size, reply.iov_len) != 0))
        return error_set(error, ERROR_INPUT,
                         "the worker reported a snapshot of %.*s bytes but wrote %s bytes",
                         reply.iov_len < sizeof size ? (int)reply.iov_len : (int)sizeof size,
                         (const char *)reply.iov_base, size);
    return 0;
}

int heap_file_copy(int to, int from, struct error *error)
{
    ssize_t copied;

    do
        copied = sendfile(to, from, NULL, INT_MAX);
    while (copied > 0 || (copied < 0 && errno == EINTR));
    return copied == 0 ? 0 : error_system(error, errno, "cannot keep a snapshot");
}

int heap_file_reopen(int fd, struct error *error)
{
    char path[32];
    int other;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    other = open(path, O_RDONLY | O_CLOEXEC);
    if (other < 0)
        return error_system(error, errno, "cannot open a snapshot");
    return other;
}
