/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a compressed slogfile ends with, the search for the place to continue stays within it,
 * and finds the same place again after the file is finished there.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "slog/write/slog_file.h"
#include "tests/fuzz/fuzz.h"

static int find(int fd, size_t size, struct zstd_tail *tail)
{
    struct error error;

    return zstd_tail_find(fd, "input", (int64_t)size, tail, &error);
}

static void finish_and_find(int fd, const struct zstd_tail *tail)
{
    size_t size = (size_t)tail->size + zstd_tail_end.iov_len;
    struct zstd_tail again;

    check(ftruncate(fd, tail->size) == 0);
    check(pwrite(fd, zstd_tail_end.iov_base, zstd_tail_end.iov_len, tail->size) ==
          (ssize_t)zstd_tail_end.iov_len);
    check(find(fd, size, &again) == 0);
    check(!again.unfinished && again.size == (int64_t)size && again.torn == tail->torn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    struct zstd_tail tail;

    check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    if (find(fd, size, &tail) == 0) {
        check(tail.size >= 0 && tail.size <= (int64_t)size);
        if (tail.unfinished)
            finish_and_find(fd, &tail);
    }
    close(fd);
    return 0;
}
