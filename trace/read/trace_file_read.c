/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "trace/read/event_code.h"
#include "trace/read/trace_file.h"

static int damaged(const char *path, size_t at, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: damaged at byte %zu", path, at);
}

/* Unpacks the block and visits it. */
static int visit_block(const char *path, size_t at, const struct trace_block *block,
                       const uint8_t *stored, trace_block_visit *visit, void *context,
                       struct error *error)
{
    uint8_t *content;
    int result;

    if (block->stored == block->length)
        return visit(context, block, stored, error);
    content = malloc((size_t)block->length + 1);
    if (content == NULL)
        return error_memory(error, "a trace");
    if (ZSTD_decompress(content, block->length, stored, block->stored) != block->length)
        result = damaged(path, at, error);
    else
        result = visit(context, block, content, error);
    free(content);
    return result;
}

static int read_blocks(const char *path, const uint8_t *bytes, size_t size,
                       trace_block_visit *visit, void *context, bool *torn, struct error *error)
{
    size_t at = TRACE_FILE_HEAD;

    while (at < size) {
        struct trace_block block;

        *torn = size - at < TRACE_BLOCK_HEAD;
        if (*torn)
            return 0;
        memcpy(&block, bytes + at, sizeof block);
        if (block.length > TRACE_BLOCK_MOST || block.stored > block.length)
            return damaged(path, at, error);
        *torn = block.stored > size - at - TRACE_BLOCK_HEAD;
        if (*torn)
            return 0;
        if (crc32(0, bytes + at + TRACE_BLOCK_HEAD, block.stored) != block.sum)
            return damaged(path, at, error);
        if (visit_block(path, at, &block, bytes + at + TRACE_BLOCK_HEAD, visit, context, error) !=
            0)
            return -1;
        at += TRACE_BLOCK_HEAD + block.stored;
    }
    return 0;
}

static int check_head(const char *path, const uint8_t *bytes, struct error *error)
{
    uint32_t version;

    memcpy(&version, bytes + strlen(TRACE_FILE_MAGIC), sizeof version);
    if (memcmp(bytes, TRACE_FILE_MAGIC, strlen(TRACE_FILE_MAGIC)) != 0)
        return error_set(error, ERROR_INPUT, "%s is not a trace", path);
    if (version != TRACE_FILE_VERSION)
        return error_set(error, ERROR_INPUT,
                         "%s is a trace of version %u; this gaspipe reads version %d", path,
                         version, TRACE_FILE_VERSION);
    return 0;
}

int trace_file_read(const char *path, trace_block_visit *visit, void *context, bool *torn,
                    struct error *error)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    void *bytes = MAP_FAILED;
    int result;

    _Static_assert(sizeof(struct trace_block) == TRACE_BLOCK_HEAD, "as in the file");
    *torn = false;
    if (fd < 0 || fstat(fd, &status) != 0)
        result = error_set(error, ERROR_INPUT, "%s: %m", path);
    else if (!S_ISREG(status.st_mode) || status.st_size < TRACE_FILE_HEAD)
        result = error_set(error, ERROR_INPUT, "%s is not a trace", path);
    else if ((bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) ==
             MAP_FAILED)
        result = error_system(error, errno, "cannot read %s", path);
    else
        result =
            check_head(path, bytes, error) != 0
                ? -1
                : read_blocks(path, bytes, (size_t)status.st_size, visit, context, torn, error);
    if (bytes != MAP_FAILED)
        munmap(bytes, (size_t)status.st_size);
    if (fd >= 0)
        close(fd);
    return result;
}

int trace_file_read_events(const struct trace_block *block, const uint8_t *content,
                           struct trace_lane_events *events, struct error *error)
{
    const uint8_t *at = content, *const end = content + block->length;
    uint64_t lane, thread;
    int result = -1;

    *events = (struct trace_lane_events){0};
    if (event_code_take(&at, end, &lane) && event_code_take(&at, end, &thread) &&
        lane < TRACE_LANES_MAX)
        result = event_code_read(at, end, &events->events, &events->count);
    if (result == 0) {
        events->lane = (unsigned)lane;
        events->thread = (uint32_t)thread;
        return 0;
    }
    free(events->events);
    events->events = NULL;
    return result == -2 ? error_memory(error, "a trace")
                        : error_set(error, ERROR_INPUT, "a block of a trace has no events");
}

bool trace_file_read_lane(const struct trace_block *block, const uint8_t *content, unsigned *lane)
{
    const uint8_t *at = content;
    uint64_t number;

    if (!event_code_take(&at, content + block->length, &number) || number >= TRACE_LANES_MAX)
        return false;
    *lane = (unsigned)number;
    return true;
}
