/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/page_vfs.h"

#include <endian.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "store/integrity/sealed_bytes.h"

/* https://www.sqlite.org/fileformat2.html#the_database_header */
enum {
    HEADER_SIZE = 100,
    HEADER_PAGE_SIZE = 16,
    HEADER_RESERVED = 20,
    PAGE_SIZE_MIN = 512,
    PAGE_SIZE_MAX = 65536,
};

/* gaspipe's operations for sqlite3_file_control(); SQLite's own are below 100. */
enum { CONTROL_CHECK = 0x67617370, CONTROL_SCAN, CONTROL_SUSPECT };

/* The beginning of both kinds of files of this layer. */
struct outer_file {
    sqlite3_file base;
    sqlite3_file *inner; /* of SQLite's own layer; follows in memory */
};

struct scan {
    bool repair;
    struct page_counts pages;
};

/* The database. Other files than this and the log are SQLite's own layer's. */
struct page_file {
    struct outer_file outer;
    bool stamps;             /* the file has space for checksums */
    bool checks;             /* pages with wrong ones are not used */
    bool suspect;            /* a page that was read had a wrong one */
    struct page_judge judge; /* asked once; no function: never, or was asked */
    bool writes;             /* it was opened for writing */
    bool is_unchangeable;    /* by this user, and it has no log */
    const char *name;        /* borrowed */
    unsigned char *page;     /* buffer for a page that is being written, with its checksum */
};

static sqlite3_vfs *system_vfs;
static int64_t damaged_page;

/* ---- calls that are only passed on ---- */

static sqlite3_file *inner_of(sqlite3_file *file)
{
    return ((struct outer_file *)file)->inner;
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 size)
{
    return inner_of(file)->pMethods->xTruncate(inner_of(file), size);
}

static int sync_file(sqlite3_file *file, int flags)
{
    return inner_of(file)->pMethods->xSync(inner_of(file), flags);
}

static int size_of_file(sqlite3_file *file, sqlite3_int64 *size)
{
    return inner_of(file)->pMethods->xFileSize(inner_of(file), size);
}

static int lock_file(sqlite3_file *file, int level)
{
    return inner_of(file)->pMethods->xLock(inner_of(file), level);
}

static int unlock_file(sqlite3_file *file, int level)
{
    return inner_of(file)->pMethods->xUnlock(inner_of(file), level);
}

static int check_reserved_lock(sqlite3_file *file, int *locked)
{
    return inner_of(file)->pMethods->xCheckReservedLock(inner_of(file), locked);
}

static int pass_control(sqlite3_file *file, int what, void *argument)
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

static int map_shared(sqlite3_file *file, int region, int size, int extend, void volatile **memory)
{
    return inner_of(file)->pMethods->xShmMap(inner_of(file), region, size, extend, memory);
}

static int lock_shared(sqlite3_file *file, int offset, int count, int flags)
{
    return inner_of(file)->pMethods->xShmLock(inner_of(file), offset, count, flags);
}

static void order_shared(sqlite3_file *file)
{
    inner_of(file)->pMethods->xShmBarrier(inner_of(file));
}

static int unmap_shared(sqlite3_file *file, int delete)
{
    return inner_of(file)->pMethods->xShmUnmap(inner_of(file), delete);
}

/* ---- the pages of the database ---- */

/* SQLite reads and writes pages whole, and nothing else of such a size. */
static bool is_page(int length, int64_t offset)
{
    return length >= PAGE_SIZE_MIN && length <= PAGE_SIZE_MAX && (length & (length - 1)) == 0 &&
           offset % length == 0;
}

/* The first page says whether pages have space for checksums. */
static void look_at_header(struct page_file *file, const unsigned char *bytes, int length,
                           int64_t offset)
{
    if (offset == 0 && length >= HEADER_SIZE)
        file->stamps = bytes[HEADER_RESERVED] == PAGE_VFS_RESERVED;
}

static uint64_t page_seed(int length, int64_t offset)
{
    return (uint64_t)(offset / length + 1);
}

/* It was never written, or a disk lost it. */
static bool is_empty(const unsigned char *page, int length)
{
    return page[0] == 0 && memcmp(page, page + 1, (size_t)length - 1) == 0;
}

/* The only process that writes the file corrects it on the disk, too. */
static void write_corrected(struct page_file *file, const unsigned char *page, int length,
                            int64_t offset, bool is_known)
{
    sqlite3_file *inner = file->outer.inner;
    const bool is_written =
        file->writes && inner->pMethods->xWrite(inner, page, length, offset) == SQLITE_OK;

    if (is_written || !is_known)
        log_line("%s: the disk or another program changed a byte of page %" PRId64 "; its checksum "
                 "says what it was: %s",
                 file->name, offset / length + 1,
                 is_written ? "corrected" : "it is read so, and the next run corrects it");
}

/* Returns true if the page is as it was written, perhaps after a byte was put back. */
static bool make_sound(struct page_file *file, unsigned char *page, int length, int64_t offset)
{
    enum sealed_bytes_found found;

    if (sealed_bytes_match(page, (size_t)length, page_seed(length, offset)))
        return true;
    if (!file->stamps || is_empty(page, length))
        return false;
    found = sealed_bytes_correct(page, (size_t)length, page_seed(length, offset));
    if (found == SEALED_BYTES_NOTHING)
        return false;
    write_corrected(file, page, length, offset, found == SEALED_BYTES_AGAIN);
    return true;
}

/* ---- the header of the file ---- */

/* SQLite reads it before it knows how long a page is: gaspipe's stores have SQLite's default. */
enum { FIRST_PAGE_SIZE = 4096 };

/* Every store has these bytes in its header. One wrong byte is looked for. */
static bool resembles_store_header(const unsigned char *header)
{
    static const unsigned char words[] = "SQLite format 3",
                               sizes[] = {0x10, 0x00, 2, 2, 8, 64, 32, 32};
    int different = 0;

    for (size_t i = 0; i < sizeof words; i++)
        different += header[i] != words[i];
    for (size_t i = 0; i < sizeof sizes; i++)
        different += header[HEADER_PAGE_SIZE + i] != sizes[i];
    return different <= 1;
}

/* Reads the beginning of the file, of which a changed byte is put back. */
static int read_store_header(struct page_file *file, void *bytes, int length, int64_t offset)
{
    unsigned char page[FIRST_PAGE_SIZE];
    int code = file->outer.inner->pMethods->xRead(file->outer.inner, page, sizeof page, 0);

    if (code != SQLITE_OK || offset + length > FIRST_PAGE_SIZE || !resembles_store_header(page))
        return file->outer.inner->pMethods->xRead(file->outer.inner, bytes, length, offset);
    file->stamps = true;
    (void)make_sound(file, page, sizeof page, 0); /* SQLite says what is wrong otherwise */
    memcpy(bytes, page + offset, (size_t)length);
    return SQLITE_OK;
}

static int scan_file(struct page_file *file, struct scan *scan);

/* Asks the judge. Returns true if later reads may use damaged pages. */
static bool come_to_trust(struct page_file *file)
{
    const struct page_judge judge = file->judge;
    struct scan scan = {.repair = true};

    file->judge.trusts = NULL;
    if (judge.trusts == NULL || !judge.trusts(judge.context))
        return false;
    file->checks = false;
    if (judge.repairs)
        (void)scan_file(file, &scan); /* else the file stays suspect */
    return true;
}

static int read_checked(sqlite3_file *file, void *bytes, int length, sqlite3_int64 offset)
{
    struct page_file *own = (struct page_file *)file;
    const int code =
        offset < HEADER_SIZE
            ? read_store_header(own, bytes, length, offset)
            : own->outer.inner->pMethods->xRead(own->outer.inner, bytes, length, offset);

    if (code != SQLITE_OK)
        return code;
    look_at_header(own, bytes, length, offset);
    if (!is_page(length, offset) || make_sound(own, bytes, length, offset))
        return SQLITE_OK;
    damaged_page = offset / length + 1;
    own->suspect = true;
    return !own->checks || come_to_trust(own) ? SQLITE_OK : PAGE_VFS_DAMAGED;
}

static int write_stamped(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 offset)
{
    struct page_file *own = (struct page_file *)file;

    look_at_header(own, bytes, length, offset);
    if (!own->stamps || !is_page(length, offset))
        return own->outer.inner->pMethods->xWrite(own->outer.inner, bytes, length, offset);
    if (own->page == NULL)
        own->page = malloc(PAGE_SIZE_MAX);
    if (own->page == NULL)
        return SQLITE_IOERR_NOMEM;
    memcpy(own->page, bytes, (size_t)length - PAGE_VFS_RESERVED);
    sealed_bytes_seal(own->page, (size_t)length, page_seed(length, offset));
    return own->outer.inner->pMethods->xWrite(own->outer.inner, own->page, length, offset);
}

/* ---- all pages ---- */

static int repair_page(struct page_file *file, unsigned char *page, int length, int64_t offset)
{
    sealed_bytes_seal(page, (size_t)length, page_seed(length, offset));
    return file->outer.inner->pMethods->xWrite(file->outer.inner, page, length, offset);
}

static int scan_page(struct page_file *file, struct scan *scan, unsigned char *page, int length,
                     int64_t offset)
{
    const int code = file->outer.inner->pMethods->xRead(file->outer.inner, page, length, offset);

    if (code != SQLITE_OK || make_sound(file, page, length, offset))
        return code;
    scan->pages.damaged += !is_empty(page, length);
    scan->pages.empty += is_empty(page, length);
    return scan->repair ? repair_page(file, page, length, offset) : SQLITE_OK;
}

static int scan_pages(struct page_file *file, struct scan *scan, unsigned char *page, int length)
{
    sqlite3_int64 size = 0;
    int code = file->outer.inner->pMethods->xFileSize(file->outer.inner, &size);

    for (int64_t offset = 0; code == SQLITE_OK && offset + length <= size; offset += length)
        code = scan_page(file, scan, page, length, offset);
    if (code == SQLITE_OK && scan->repair)
        code = file->outer.inner->pMethods->xSync(file->outer.inner, SQLITE_SYNC_FULL);
    if (code == SQLITE_OK && scan->repair)
        file->suspect = false;
    return code;
}

static int scan_file(struct page_file *file, struct scan *scan)
{
    unsigned char header[HEADER_SIZE], *page;
    int code = read_store_header(file, header, sizeof header, 0);
    int length = header[HEADER_PAGE_SIZE] << 8 | header[HEADER_PAGE_SIZE + 1];

    if (code == SQLITE_IOERR_SHORT_READ) /* nothing is in the file yet */
        return SQLITE_OK;
    length = length == 1 ? PAGE_SIZE_MAX : length;
    if (code == SQLITE_OK && (!is_page(length, 0) || header[HEADER_RESERVED] != PAGE_VFS_RESERVED))
        return SQLITE_CORRUPT;
    page = code == SQLITE_OK ? malloc((size_t)length) : NULL;
    if (code == SQLITE_OK)
        code = page != NULL ? scan_pages(file, scan, page, length) : SQLITE_NOMEM;
    free(page);
    return code;
}

static int close_pages(sqlite3_file *file)
{
    free(((struct page_file *)file)->page);
    return inner_of(file)->pMethods->xClose(inner_of(file));
}

static int control_pages(sqlite3_file *file, int what, void *argument)
{
    struct page_file *own = (struct page_file *)file;

    if (what == CONTROL_CHECK) {
        own->checks = true;
        if (argument != NULL)
            own->judge = *(const struct page_judge *)argument;
        return SQLITE_OK;
    }
    if (what == CONTROL_SUSPECT) {
        *(bool *)argument = own->suspect;
        return SQLITE_OK;
    }
    if (what == CONTROL_SCAN)
        return scan_file(own, argument);
    return pass_control(file, what, argument);
}

/* SQLite then needs no file of shared memory, which it could not make. */
static int page_characteristics(sqlite3_file *file)
{
    return device_characteristics(file) |
           (((const struct page_file *)file)->is_unchangeable ? SQLITE_IOCAP_IMMUTABLE : 0);
}

/* Version 2, without xFetch: a page in mapped memory would be read past the check. */
static const sqlite3_io_methods page_methods = {
    .iVersion = 2,
    .xClose = close_pages,
    .xRead = read_checked,
    .xWrite = write_stamped,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = size_of_file,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = control_pages,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = page_characteristics,
    .xShmMap = map_shared,
    .xShmLock = lock_shared,
    .xShmBarrier = order_shared,
    .xShmUnmap = unmap_shared,
};

/* ---- the write-ahead log ---- */

/*
 * SQLite appends a page as two writes, a frame header and the page:
 *
 *      log   | header | frame | frame | frame | frame |
 *              32 bytes         `start`         `end`
 *                             |<--- `kept` --->|   in memory until the commit ends
 *
 * The hazard: another process may read the log at any time, and a write may fail half-way. The
 * appended frames stay in memory until the last page of the commit comes, or SQLite reads, syncs,
 * truncates or measures the file. Readers miss nothing, because SQLite publishes a commit in the
 * shared index only after its last write has returned. A failed write is reported for the commit's
 * last page, and the next commit begins at `start` again.
 *
 * 1. write_log() keeps a frame that is appended, and writes all others through.
 * 2. keep_frame() sees in a frame's header that it ends the commit, and after its page calls
 * 3. write_kept(), which writes all kept frames.
 */

/* https://www.sqlite.org/fileformat2.html#the_write_ahead_log */
enum {
    LOG_HEADER_SIZE = 32,
    FRAME_HEADER_SIZE = 24,
    FRAME_HEADER_COMMIT =
        4, /* size of the database after the commit, in pages; 0: the frame ends none */
};

/* A large transaction is written in parts of this size. */
enum { KEPT_MAX = 1024 * 1024 };

/* SQLite's system layer takes the length of one write modulo 128 KiB. */
enum { WRITE_MAX = 64 * 1024 };

struct log_file {
    struct outer_file outer;
    struct buf kept; /* appended frames */
    int64_t start;   /* their offset in the file */
    int64_t end;     /* of the last frame; -1: unknown */
    bool commits;    /* the last frame header that came ends a commit */
};

static int write_kept(struct log_file *file)
{
    int code = SQLITE_OK;

    if (file->kept.length == 0)
        return SQLITE_OK;
    for (size_t at = 0, length; code == SQLITE_OK && at < file->kept.length; at += length) {
        length = file->kept.length - at < WRITE_MAX ? file->kept.length - at : WRITE_MAX;
        code = file->outer.inner->pMethods->xWrite(file->outer.inner, file->kept.data + at,
                                                   (int)length, file->start + (int64_t)at);
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
    return file->outer.inner->pMethods->xWrite(file->outer.inner, bytes, length, offset);
}

static bool ends_commit(const char *header)
{
    uint32_t pages;

    memcpy(&pages, header + FRAME_HEADER_COMMIT, sizeof pages);
    return be32toh(pages) != 0;
}

static int keep_frame(struct log_file *file, const void *bytes, int length, int64_t offset)
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

static int write_log(sqlite3_file *base, const void *bytes, int length, sqlite3_int64 offset)
{
    struct log_file *file = (struct log_file *)base;
    const bool is_page = file->kept.length > 0 && length > FRAME_HEADER_SIZE;

    if (offset == file->end && (is_page || length == FRAME_HEADER_SIZE))
        return keep_frame(file, bytes, length, offset);
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

/* Frames that are kept still belong to a transaction that was not committed. */
static int close_log(sqlite3_file *file)
{
    buf_free(&((struct log_file *)file)->kept);
    return inner_of(file)->pMethods->xClose(inner_of(file));
}

static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = close_log,
    .xRead = read_log,
    .xWrite = write_log,
    .xTruncate = truncate_log,
    .xSync = sync_log,
    .xFileSize = size_of_log,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = pass_control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = device_characteristics,
};

/* ---- the layer ---- */

/* Opens the system's file; `methods` serve `outer`, which the system's file follows in memory. */
static int open_inner(struct outer_file *outer, size_t size, const sqlite3_io_methods *methods,
                      sqlite3_filename name, int flags, int *flags_found)
{
    int code;

    outer->inner = (sqlite3_file *)((char *)outer + size);
    code = system_vfs->xOpen(system_vfs, name, outer->inner, flags, flags_found);
    /* SQLite closes what has methods, even if it could not be opened. */
    outer->base.pMethods = outer->inner->pMethods != NULL ? methods : NULL;
    return code;
}

/* A run that has the store open has a log. */
static bool has_log(sqlite3_filename name)
{
    return access(sqlite3_filename_wal(name), F_OK) == 0;
}

static bool can_write_directory_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    char *directory = slash == NULL ? strdup(".") : strndup(name, (size_t)(slash - name) + 1);
    const bool can = directory == NULL || access(directory, W_OK) == 0;

    free(directory);
    return can;
}

static int open_vfs_file(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags,
                         int *flags_found)
{
    (void)vfs;
    if ((flags & SQLITE_OPEN_WAL) != 0) {
        *(struct log_file *)file = (struct log_file){.end = -1};
        return open_inner((struct outer_file *)file, sizeof(struct log_file), &log_methods, name,
                          flags, flags_found);
    }
    if ((flags & SQLITE_OPEN_MAIN_DB) == 0)
        return system_vfs->xOpen(system_vfs, name, file, flags, flags_found);
    *(struct page_file *)file = (struct page_file){
        .writes = (flags & SQLITE_OPEN_READWRITE) != 0,
        .is_unchangeable = (flags & SQLITE_OPEN_READWRITE) == 0 && name != NULL &&
                           !can_write_directory_of(name) && !has_log(name),
        .name = name};
    return open_inner((struct outer_file *)file, sizeof(struct page_file), &page_methods, name,
                      flags, flags_found);
}

int page_vfs_register(struct error *error)
{
    static sqlite3_vfs vfs;

    if (system_vfs != NULL)
        return 0;
    system_vfs = sqlite3_vfs_find(NULL);
    if (system_vfs == NULL)
        return error_set(error, ERROR_SYSTEM, "SQLite has no files");
    /* All but opening is the system's, which finds its own data in the same place. */
    vfs = *system_vfs;
    vfs.pNext = NULL;
    vfs.zName = PAGE_VFS_NAME;
    vfs.szOsFile = (int)sizeof(union {
                       struct page_file pages;
                       struct log_file log;
                   }) +
                   system_vfs->szOsFile;
    vfs.xOpen = open_vfs_file;
    if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK)
        return error_memory(error, "the files of SQLite");
    return 0;
}

int page_vfs_reserve(sqlite3 *database, struct error *error)
{
    int bytes = PAGE_VFS_RESERVED;

    if (sqlite3_file_control(database, NULL, SQLITE_FCNTL_RESERVE_BYTES, &bytes) == SQLITE_OK)
        return 0;
    return error_set(error, ERROR_SYSTEM, "SQLite cannot reserve space for checksums");
}

void page_vfs_check(sqlite3 *database, const struct page_judge *judge)
{
    /* A database in memory has no file to check. */
    (void)sqlite3_file_control(database, NULL, CONTROL_CHECK, (void *)(uintptr_t)judge);
}

bool page_vfs_is_suspect(sqlite3 *database)
{
    bool suspect = false;

    (void)sqlite3_file_control(database, NULL, CONTROL_SUSPECT, &suspect);
    return suspect;
}

int page_vfs_scan(sqlite3 *database, bool repair, struct page_counts *pages, struct error *error)
{
    struct scan scan = {.repair = repair};
    const int code = sqlite3_file_control(database, NULL, CONTROL_SCAN, &scan);

    *pages = scan.pages;
    if (code == SQLITE_OK)
        return 0;
    return error_set(error, ERROR_SYSTEM, "the pages of the store cannot be checked: %s",
                     sqlite3_errstr(code));
}

int64_t page_vfs_damaged(void)
{
    return damaged_page;
}
