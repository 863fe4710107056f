/* SPDX-License-Identifier: Apache-2.0 */
#include "store/format/log_file.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

/* https://www.sqlite.org/fileformat2.html#the_write_ahead_log */
enum {
    LOG_HEADER_SIZE = 32,
    FRAME_HEADER_SIZE = 24,
    FRAME_HEADER_COMMIT = 4, /* pages of the database behind this frame; 0: it ends no commit */
};

/* More than this is not kept back: of a large transaction. */
enum { KEPT_MAX = 1024 * 1024 };

/* SQLite's system layer takes the length of one write modulo 128 KiB. */
enum { WRITE_MAX = 64 * 1024 };

struct log_file {
    sqlite3_file base;
    sqlite3_file *inner; /* behind this struct */
    struct buf kept;     /* frames that were appended */
    int64_t start;       /* where in the file they belong */
    int64_t end;         /* of the last frame; -1: not known yet */
    bool commits;        /* the page of the frame whose header came last ends a commit */
};

static sqlite3_file *inner_of(sqlite3_file *file)
{
    return ((struct log_file *)file)->inner;
}

static int write_kept(struct log_file *file)
{
    int code = SQLITE_OK;

    if (file->kept.length == 0)
        return SQLITE_OK;
    for (size_t at = 0, length; code == SQLITE_OK && at < file->kept.length; at += length) {
        length = file->kept.length - at < WRITE_MAX ? file->kept.length - at : WRITE_MAX;
        code = file->inner->pMethods->xWrite(file->inner, file->kept.data + at, (int)length,
                                             file->start + (int64_t)at);
    }
    if (code != SQLITE_OK)
        file->end = file->start; /* the transaction fails, and the next one begins there */
    buf_clear(&file->kept);
    return code;
}

static int write_through(struct log_file *file, const void *bytes, int length, int64_t offset)
{
    const int code = write_kept(file);

    if (code != SQLITE_OK)
        return code;
    /* A new log begins with its header. */
    if (offset == 0 && length == LOG_HEADER_SIZE)
        file->end = LOG_HEADER_SIZE;
    else if (offset + length > file->end)
        file->end = offset + length;
    return file->inner->pMethods->xWrite(file->inner, bytes, length, offset);
}

static bool ends_commit(const char *header)
{
    uint32_t pages;

    memcpy(&pages, header + FRAME_HEADER_COMMIT, sizeof pages);
    return be32toh(pages) != 0;
}

static int keep(struct log_file *file, const void *bytes, int length, int64_t offset)
{
    const bool is_header = length == FRAME_HEADER_SIZE;

    if (file->kept.length == 0)
        file->start = offset;
    if (buf_append(&file->kept, bytes, (size_t)length) != 0) {
        buf_free(&file->kept);
        file->end = file->start;
        return SQLITE_NOMEM;
    }
    file->end = offset + length;
    if (is_header)
        file->commits = ends_commit(bytes);
    if (is_header || (!file->commits && file->kept.length < KEPT_MAX))
        return SQLITE_OK;
    return write_kept(file);
}

/* A frame comes as a header and a page. What is written over older frames goes to the file. */
static int write_log(sqlite3_file *base, const void *bytes, int length, sqlite3_int64 offset)
{
    struct log_file *file = (struct log_file *)base;
    const bool is_page = file->kept.length > 0 && length > FRAME_HEADER_SIZE;

    if (offset == file->end && (is_page || length == FRAME_HEADER_SIZE))
        return keep(file, bytes, length, offset);
    return write_through(file, bytes, length, offset);
}

static int read_log(sqlite3_file *file, void *bytes, int length, sqlite3_int64 offset)
{
    const int code = write_kept((struct log_file *)file);

    return code == SQLITE_OK
               ? inner_of(file)->pMethods->xRead(inner_of(file), bytes, length, offset)
               : code;
}

static int truncate_log(sqlite3_file *file, sqlite3_int64 size)
{
    const int code = write_kept((struct log_file *)file);

    return code == SQLITE_OK ? inner_of(file)->pMethods->xTruncate(inner_of(file), size) : code;
}

static int sync_log(sqlite3_file *file, int flags)
{
    const int code = write_kept((struct log_file *)file);

    return code == SQLITE_OK ? inner_of(file)->pMethods->xSync(inner_of(file), flags) : code;
}

static int size_of_log(sqlite3_file *file, sqlite3_int64 *size)
{
    const int code = write_kept((struct log_file *)file);

    return code == SQLITE_OK ? inner_of(file)->pMethods->xFileSize(inner_of(file), size) : code;
}

/* What is still kept belongs to a transaction that was not committed. */
static int close_log(sqlite3_file *file)
{
    buf_free(&((struct log_file *)file)->kept);
    return inner_of(file)->pMethods->xClose(inner_of(file));
}

/* ---- what is only passed on ---- */

static int lock_log(sqlite3_file *file, int level)
{
    return inner_of(file)->pMethods->xLock(inner_of(file), level);
}

static int unlock_log(sqlite3_file *file, int level)
{
    return inner_of(file)->pMethods->xUnlock(inner_of(file), level);
}

static int check_reserved_lock(sqlite3_file *file, int *locked)
{
    return inner_of(file)->pMethods->xCheckReservedLock(inner_of(file), locked);
}

static int control_log(sqlite3_file *file, int what, void *argument)
{
    return inner_of(file)->pMethods->xFileControl(inner_of(file), what, argument);
}

static int sector_size(sqlite3_file *file)
{
    return inner_of(file)->pMethods->xSectorSize(inner_of(file));
}

static int device_characteristics(sqlite3_file *file)
{
    return inner_of(file)->pMethods->xDeviceCharacteristics(inner_of(file));
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = close_log,
    .xRead = read_log,
    .xWrite = write_log,
    .xTruncate = truncate_log,
    .xSync = sync_log,
    .xFileSize = size_of_log,
    .xLock = lock_log,
    .xUnlock = unlock_log,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = control_log,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = device_characteristics,
};

int log_file_size(const sqlite3_vfs *system)
{
    return (int)sizeof(struct log_file) + system->szOsFile;
}

int log_file_open(sqlite3_vfs *system, sqlite3_filename name, sqlite3_file *file, int flags,
                  int *flags_found)
{
    struct log_file *own = (struct log_file *)file;
    int code;

    *own = (struct log_file){.inner = (sqlite3_file *)(own + 1), .end = -1};
    code = system->xOpen(system, name, own->inner, flags, flags_found);
    /* SQLite closes what has methods, also when it was not opened. */
    if (own->inner->pMethods != NULL)
        own->base.pMethods = &methods;
    return code;
}
