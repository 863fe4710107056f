/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/read/zstd_tail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>
#include <zstd_errors.h>

/* The shape of frames and blocks: RFC 8878, sections 3.1.1.1 and 3.1.1.2. */
enum { MAGIC_SIZE = 4, BLOCK_HEADER_SIZE = 3, BLOCK_RLE = 1, BLOCK_RESERVED = 3 };

/*
 * What a header of ours has behind the magic: a descriptor that says that there is no
 * checksum, no size and no dictionary, and the window's size.
 */
enum { OUR_DESCRIPTOR = 0, OUR_HEADER_SIZE = MAGIC_SIZE + 2 };

static const char magic[MAGIC_SIZE] = "\x28\xb5\x2f\xfd";
static char empty_last_block[BLOCK_HEADER_SIZE] = {1, 0, 0};
const struct iovec zstd_tail_end = {empty_last_block, sizeof empty_last_block};

/* How long the whole blocks of an unfinished frame are, its header too; 0: there is none. */
static size_t whole_blocks(const unsigned char *frame, size_t length)
{
    size_t end = OUR_HEADER_SIZE;

    if (end > length)
        return 0;
    while (length - end >= BLOCK_HEADER_SIZE) {
        const unsigned char *block = frame + end;
        size_t header = block[0] | (size_t)block[1] << 8 | (size_t)block[2] << 16;
        size_t size = (header >> 1 & 3) == BLOCK_RLE ? 1 : header >> 3;

        if (length - end - BLOCK_HEADER_SIZE < size || (header >> 1 & 3) == BLOCK_RESERVED)
            break;
        end += BLOCK_HEADER_SIZE + size;
    }
    return end;
}

/* Decompresses the frame for its last byte: '\n' when there is no byte. */
static int last_byte(struct iovec frame, char *last, struct error *error)
{
    size_t size = ZSTD_DStreamOutSize();
    ZSTD_inBuffer in = {.src = frame.iov_base, .size = frame.iov_len};
    ZSTD_DCtx *context = ZSTD_createDCtx();
    char *text = malloc(size);
    int result = 0;
    size_t made;

    *last = '\n';
    if (context == NULL || text == NULL)
        result = error_memory(error, "decompressing");
    do {
        ZSTD_outBuffer out = {.dst = text, .size = size};

        made = 0;
        if (result == 0 && ZSTD_isError(ZSTD_decompressStream(context, &out, &in)))
            result = error_set(error, ERROR_INPUT, "damaged Zstandard data");
        if (result == 0 && out.pos > 0) {
            made = out.pos;
            *last = text[made - 1];
        }
    } while (result == 0 && (in.pos < in.size || made == size));
    free(text);
    ZSTD_freeDCtx(context);
    return result;
}

static int take_unfinished(const unsigned char *frame, size_t length, size_t *whole,
                           struct error *error)
{
    if (memcmp(frame, magic, length < MAGIC_SIZE ? length : MAGIC_SIZE) != 0)
        return error_set(error, ERROR_INPUT, "not Zstandard data");
    if (length > MAGIC_SIZE && frame[MAGIC_SIZE] != OUR_DESCRIPTOR)
        return error_set(error, ERROR_INPUT, "its last frame is unfinished, and not ours");
    *whole = whole_blocks(frame, length);
    return 0;
}

/* Goes over the frames; the last one that has blocks ends the file. */
static int walk(const unsigned char *bytes, size_t size, struct zstd_tail *tail,
                struct error *error)
{
    struct iovec last = {0};
    size_t at = 0, length;
    char byte;

    while (at < size) {
        length = ZSTD_findFrameCompressedSize(bytes + at, size - at);
        if (ZSTD_getErrorCode(length) == ZSTD_error_srcSize_wrong) {
            if (take_unfinished(bytes + at, size - at, &length, error) != 0)
                return -1;
            tail->unfinished = length > 0;
            size = at + length;
        } else if (ZSTD_isError(length)) {
            return error_set(error, ERROR_INPUT, "not Zstandard data");
        }
        if (length > 0)
            last = (struct iovec){(void *)(bytes + at), length};
        at += length;
    }
    tail->size = (int64_t)size;
    if (last_byte(last, &byte, error) != 0)
        return -1;
    tail->torn = byte != '\n';
    return 0;
}

int zstd_tail_find(int fd, const char *path, int64_t size, struct zstd_tail *tail,
                   struct error *error)
{
    void *bytes;
    int result;

    *tail = (struct zstd_tail){0};
    if (size == 0)
        return 0;
    bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return error_system(error, errno, "%s: cannot read the slogfile's end", path);
    result = walk(bytes, (size_t)size, tail, error);
    (void)munmap(bytes, (size_t)size);
    return result == 0 ? 0 : error_prefix(error, "%s: cannot append", path);
}
