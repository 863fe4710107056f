/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a file holds, plain or compressed, its reading ends; and one that grows while it is
 * followed gives the same lines as one that is there at once. The first byte says how much is
 * there when the following begins.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "slog/model/fnv1a.h"
#include "slog/read/reader.h"
#include "tests/fuzz/fuzz.h"

struct reading {
    struct reader *reader;
    uint64_t lines, digest;
    int result; /* of the last call: 0 at the end, -1 */
};

static struct reading begin(int fd)
{
    struct reading reading = {.digest = FNV1A_START};
    static char path[32]; /* the reader borrows it */
    struct error error;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    reading.reader = reader_open(path, &error);
    return reading;
}

static void read_on(struct reading *reading, bool follow)
{
    struct reader_line line;
    struct error error;

    while ((reading->result = reader_next(reading->reader, follow, &line, &error)) > 0) {
        check(line.number == ++reading->lines);
        check(!follow || !line.torn);
        reading->digest = fnv1a_add(reading->digest, line.bytes, line.length);
    }
}

static void write_whole(int fd, const uint8_t *bytes, size_t size)
{
    check(write(fd, bytes, size) == (ssize_t)size);
}

/* Reads the file while it comes in two pieces. */
static struct reading read_growing(int fd, const uint8_t *bytes, size_t size, size_t first)
{
    struct reading reading;
    struct error error;

    write_whole(fd, bytes, first);
    reading = begin(fd);
    if (reading.reader == NULL)
        return reading;
    read_on(&reading, true);
    write_whole(fd, bytes + first, size - first);
    check(reader_go_back(reading.reader, &error) == 0);
    if (reading.result == 0)
        read_on(&reading, true);
    if (reading.result == 0)
        read_on(&reading, false);
    return reading;
}

static bool is_zstandard(const uint8_t *bytes, size_t size)
{
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};

    return size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* Its head is written before anything else, and is there when it is opened. */
static bool is_slog_ring(const uint8_t *bytes, size_t size)
{
    return size >= 8 && memcmp(bytes, "AG-SLOG!", 8) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    struct reading growing, whole;

    check(fd >= 0);
    if (size > 0) {
        growing = read_growing(fd, data + 1, size - 1, (size - 1) * data[0] / UINT8_MAX);
        whole = begin(fd);
        if (whole.reader != NULL)
            read_on(&whole, false);
        /* The amount of output from damaged data is unspecified. libzstd checks a complete frame
         * more strictly than one in pieces. */
        if (growing.reader != NULL && whole.reader != NULL && !is_slog_ring(data + 1, size - 1)) {
            check(growing.result == whole.result || is_zstandard(data + 1, size - 1));
            check(growing.result < 0 || whole.result < 0 ||
                  (growing.lines == whole.lines && growing.digest == whole.digest));
        }
        reader_close(growing.reader);
        reader_close(whole.reader);
    }
    close(fd);
    return 0;
}
