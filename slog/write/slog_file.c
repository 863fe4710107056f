/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/write/slog_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/io.h"
#include "base/output/packer.h"

const char *slog_parts_path(struct buf *name, const char *path, int64_t part)
{
    static const char suffix[] = ".zst";
    size_t length = strlen(path), suffix_length = strlen(suffix);
    size_t stem = length;

    buf_clear(name);
    if (length >= suffix_length && strcmp(path + length - suffix_length, suffix) == 0)
        stem -= suffix_length;
    buf_append(name, path, stem);
    if (part > 0)
        buf_printf(name, ".%" PRId64, part);
    buf_append(name, path + stem, length - stem);
    return buf_string(name);
}

int slog_parts_last(const char *path, int64_t *part, struct error *error)
{
    struct buf name = {0};
    const char *next = slog_parts_path(&name, path, 1);

    *part = 0;
    while (next != NULL && access(next, F_OK) == 0) {
        ++*part;
        next = slog_parts_path(&name, path, *part + 1);
    }
    buf_free(&name);
    return next == NULL ? error_memory(error, "the slogfile") : 0;
}

/* Frames and blocks: RFC 8878, sections 3.1.1.1 and 3.1.1.2. */
enum { MAGIC_SIZE = 4, BLOCK_HEADER_SIZE = 3, BLOCK_RLE = 1, BLOCK_RESERVED = 3 };

/*
 * gaspipe's frame header: after the magic, a descriptor without checksum, size and dictionary, and
 * the window's size.
 */
enum { OUR_DESCRIPTOR = 0, OUR_HEADER_SIZE = MAGIC_SIZE + 2 };

static const char magic[] = "\x28\xb5\x2f\xfd";
static char empty_last_block[BLOCK_HEADER_SIZE] = {1, 0, 0};
const struct iovec zstd_tail_end = {empty_last_block, sizeof empty_last_block};

/* The length of an unfinished frame's header and whole blocks; 0 if none. */
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

/*
 * Decompresses the frame to find its last byte; '
 * ' if it is empty.
 */
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
        return error_set(error, ERROR_INPUT,
                         "its last frame is unfinished, and was not written by gaspipe");
    *whole = whole_blocks(frame, length);
    return 0;
}

/* Walks the frames; the last one with blocks ends the file. */
static int walk_frames(const unsigned char *bytes, size_t size, struct zstd_tail *tail,
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
    result = walk_frames(bytes, (size_t)size, tail, error);
    (void)munmap(bytes, (size_t)size);
    return result == 0 ? 0 : error_prefix(error, "%s: cannot append", path);
}

struct slog_file {
    int fd;
    char *path;
    bool regular;          /* it can be truncated: no pipe or terminal */
    struct packer *packer; /* NULL: plain */
    struct buf packed;     /* its output that is not in the file yet */
};

/* ---- writing ---- */

/*
 * Writes until done or failed. Returns how many bytes were written; errno is set if fewer than
 * asked.
 */
static size_t write_what_fits(int fd, const char *bytes, size_t length)
{
    size_t done = 0;

    while (done < length) {
        ssize_t written = write(fd, bytes + done, length - done);

        if (written > 0)
            done += (size_t)written;
        else if (errno != EINTR || io_waits_are_abandoned())
            break;
    }
    return done;
}

/* Removes the file's last bytes. False if that failed. */
static bool cut_back(const struct slog_file *file, size_t bytes)
{
    off_t end = file->regular ? lseek(file->fd, 0, SEEK_END) : -1;

    return end >= 0 && ftruncate(file->fd, end - (off_t)bytes) == 0;
}

static int slog_file_write_failed(const struct slog_file *file, int cause, struct error *error)
{
    return error_system(error, cause, "%s: cannot write the slogfile", file->path);
}

/* How many of the first `length` bytes are whole lines. */
static size_t whole_lines(const char *bytes, size_t length)
{
    const char *newline = memrchr(bytes, '\n', length);

    return newline == NULL ? 0 : (size_t)(newline - bytes) + 1;
}

/*
 * Removes a partial line after a failed write, so that readers see whole lines only. If that
 * fails, the next write continues the line.
 */
static int write_plain(struct slog_file *file, const char *lines, size_t length, size_t *taken,
                       struct error *error)
{
    size_t whole;
    int cause;

    *taken = write_what_fits(file->fd, lines, length);
    if (*taken == length)
        return 0;
    cause = errno;
    whole = whole_lines(lines, *taken);
    if (whole < *taken && cut_back(file, *taken - whole))
        *taken = whole;
    return slog_file_write_failed(file, cause, error);
}

/* The same for a partial frame, which is readable up to the previous flush. */
static int write_packed(struct slog_file *file, struct error *error)
{
    size_t written = write_what_fits(file->fd, file->packed.data, file->packed.length);
    int cause = errno;

    if (written == file->packed.length) {
        buf_clear(&file->packed);
        return 0;
    }
    if (written > 0 && !cut_back(file, written))
        buf_consume(&file->packed, written);
    return slog_file_write_failed(file, cause, error);
}

static int slog_file_pack(struct slog_file *file, const char *lines, size_t length,
                          enum packer_end end, struct error *error)
{
    if (packer_add(file->packer, lines, length, end, &file->packed, error) != 0)
        return error_prefix(error, "%s", file->path);
    return write_packed(file, error);
}

int slog_file_write(struct slog_file *file, const char *lines, size_t length, size_t *taken,
                    struct error *error)
{
    if (file->packer == NULL)
        return write_plain(file, lines, length, taken, error);
    *taken = length;
    return length > 0 ? slog_file_pack(file, lines, length, PACKER_FLUSH, error)
                      : write_packed(file, error);
}

int64_t slog_file_size(const struct slog_file *file)
{
    off_t end = file->regular ? lseek(file->fd, 0, SEEK_END) : 0;

    return end > 0 ? end : 0;
}

bool slog_file_is_regular(const struct slog_file *file)
{
    return file->regular;
}

/* ---- opening and closing ---- */

static int find_plain_end(struct slog_file *file, off_t size, bool *torn, struct error *error)
{
    char last = '\n';

    if (size > 0 && pread(file->fd, &last, 1, size - 1) != 1)
        return error_system(error, errno, "%s: cannot read the slogfile's end", file->path);
    *torn = last != '\n';
    return 0;
}

/* The end of an unfinished frame is written with the first lines. */
static int find_packed_end(struct slog_file *file, off_t size, bool *torn, struct error *error)
{
    struct zstd_tail tail;

    if (zstd_tail_find(file->fd, file->path, size, &tail, error) != 0)
        return -1;
    *torn = tail.torn;
    if (tail.size < size && ftruncate(file->fd, tail.size) != 0)
        return error_system(error, errno, "%s: cannot cut the slogfile's end", file->path);
    if (tail.unfinished &&
        buf_append(&file->packed, zstd_tail_end.iov_base, zstd_tail_end.iov_len) != 0)
        return error_memory(error, "the slogfile");
    return 0;
}

static int prepare_regular_file(struct slog_file *file, bool *torn, struct error *error)
{
    struct stat status;

    if (flock(file->fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return error_set(error, ERROR_SYSTEM,
                             "%s: another process is writing this slogfile; name another file",
                             file->path);
        return error_system(error, errno, "%s: cannot lock the slogfile", file->path);
    }
    /* Under the lock, since an earlier writer may just have ended. */
    if (fstat(file->fd, &status) != 0)
        return error_system(error, errno, "%s", file->path);
    return file->packer == NULL ? find_plain_end(file, status.st_size, torn, error)
                                : find_packed_end(file, status.st_size, torn, error);
}

static int open_descriptor(struct slog_file *file, bool *torn, struct error *error)
{
    struct stat status;

    file->fd = open(file->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file->fd < 0)
        return error_system(error, errno, "%s: cannot open the slogfile", file->path);
    if (fstat(file->fd, &status) != 0)
        return error_system(error, errno, "%s", file->path);
    file->regular = S_ISREG(status.st_mode);
    return file->regular ? prepare_regular_file(file, torn, error) : 0;
}

static void free_file(struct slog_file *file)
{
    packer_free(file->packer);
    buf_free(&file->packed);
    free(file->path);
    free(file);
}

static bool is_compressed(const char *path)
{
    size_t length = strlen(path);

    return length >= 4 && strcmp(path + length - 4, ".zst") == 0;
}

struct slog_file *slog_file_open(const char *path, bool *torn, struct error *error)
{
    struct slog_file *file = calloc(1, sizeof *file);

    *torn = false;
    if (file == NULL) {
        error_memory(error, "the slogfile");
        return NULL;
    }
    file->fd = -1;
    file->path = strdup(path);
    if (file->path == NULL) {
        error_memory(error, "the slogfile");
        goto fail;
    }
    if (is_compressed(path) && (file->packer = packer_new(error)) == NULL)
        goto fail;
    if (open_descriptor(file, torn, error) == 0)
        return file;
fail:
    if (file->fd >= 0)
        close(file->fd);
    free_file(file);
    return NULL;
}

int slog_file_close(struct slog_file *file, struct error *error)
{
    int result = file->packer != NULL ? slog_file_pack(file, NULL, 0, PACKER_FINISH, error) : 0;

    if (close(file->fd) != 0 && errno != EINTR && result == 0)
        result = error_system(error, errno, "%s: cannot close the slogfile", file->path);
    free_file(file);
    return result;
}
