/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/commit_mark.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/integrity/sealed_bytes.h"

/* The file, in the machine's own layout: it holds until the machine restarts. */
struct mark_record {
    char magic[8];
    char boot[COMMIT_MARK_BOOT_SIZE]; /* /proc/sys/kernel/random/boot_id */
    uint32_t closed;                  /* 1: the store was closed, and this is its file: */
    int64_t size;
    int64_t seconds, nanoseconds; /* when it was changed last */
    uint64_t last, next;          /* totals; one of them is committed */
    unsigned char seal[SEAL_SIZE];
};

/* Each kind of sealed bytes has a seed of its own. */
enum { MARK_SEED = 0 };

static const char magic[] = "gaspmark";

static int mark_path(char path[PATH_MAX], const char *store, struct error *error)
{
    const char *slash = strrchr(store, '/');
    const int directory = slash != NULL ? (int)(slash - store) + 1 : 0;
    const int length = snprintf(path, PATH_MAX, "%.*sgaspipe.mark", directory, store);

    if (length < 0 || length >= PATH_MAX)
        return error_system(error, ENAMETOOLONG, "%s", store);
    return 0;
}

/* Zeros if Linux does not say. Then a mark also holds after a restart, which is wrong only after a
 * power failure. */
static void read_boot(char boot[COMMIT_MARK_BOOT_SIZE])
{
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    memset(boot, 0, COMMIT_MARK_BOOT_SIZE);
    if (fd < 0)
        return;
    if (read(fd, boot, COMMIT_MARK_BOOT_SIZE) != COMMIT_MARK_BOOT_SIZE)
        memset(boot, 0, COMMIT_MARK_BOOT_SIZE);
    (void)close(fd); /* it was only read */
}

/* ---- reading ---- */

/* Returns true if the record is as it was written, perhaps after a byte was put back. */
static bool make_mark_sound(struct mark_record *record)
{
    unsigned char *bytes = (unsigned char *)record;

    return sealed_bytes_match(bytes, sizeof *record, MARK_SEED) ||
           sealed_bytes_correct(bytes, sizeof *record, MARK_SEED) != SEALED_BYTES_NOTHING;
}

/* *found: there is a mark of this boot. An empty file is none: nothing was written yet. */
static int read_mark_record(const char *path, struct mark_record *record, bool *found,
                            struct error *error)
{
    static const struct mark_record nothing;
    char boot[COMMIT_MARK_BOOT_SIZE];
    ssize_t length;
    int fd;

    *found = false;
    if (io_open_file(AT_FDCWD, path, O_NOFOLLOW, UINT64_MAX, &fd, error) != 0)
        return -1;
    if (fd < 0)
        return 0;
    length = read(fd, record, sizeof *record);
    (void)close(fd); /* it was only read */
    if (length == 0 || (length == sizeof *record && memcmp(record, &nothing, sizeof nothing) == 0))
        return 0;
    if (length != sizeof *record || !make_mark_sound(record) ||
        memcmp(record->magic, magic, sizeof record->magic) != 0)
        return error_set(error, ERROR_SYSTEM,
                         "%s: the mark of the last commit is damaged: if the store next to it is "
                         "what it should be, remove the mark",
                         path);
    read_boot(boot);
    *found = memcmp(boot, record->boot, COMMIT_MARK_BOOT_SIZE) == 0;
    return 0;
}

static bool is_same_file(const struct mark_record *record, const char *path)
{
    struct stat status;

    return record->closed == 1 && stat(path, &status) == 0 && status.st_size == record->size &&
           status.st_mtim.tv_sec == record->seconds &&
           status.st_mtim.tv_nsec == record->nanoseconds;
}

int commit_mark_check(const char *path, uint64_t total, bool *untouched, struct error *error)
{
    struct mark_record record;
    char mark[PATH_MAX];
    bool found;

    *untouched = false;
    if (mark_path(mark, path, error) != 0 || read_mark_record(mark, &record, &found, error) != 0)
        return -1;
    if (!found)
        return 0;
    *untouched = is_same_file(&record, path);
    if (total == record.last || total == record.next)
        return 0;
    return error_set(error, ERROR_SYSTEM,
                     "%s: the store is damaged: its last commits are missing: its write-ahead log "
                     "was damaged or taken away, or it is an older copy. To continue from here all "
                     "the same, remove %s",
                     path, mark);
}

/* ---- writing ---- */

static int write_mark_record(const struct commit_mark *mark, const struct stat *closed,
                             struct error *error)
{
    struct mark_record record = {.last = mark->last, .next = mark->next};

    memcpy(record.magic, magic, sizeof record.magic);
    memcpy(record.boot, mark->boot, sizeof record.boot);
    if (closed != NULL) {
        record.closed = 1;
        record.size = closed->st_size;
        record.seconds = closed->st_mtim.tv_sec;
        record.nanoseconds = closed->st_mtim.tv_nsec;
    }
    sealed_bytes_seal((unsigned char *)&record, sizeof record, MARK_SEED);
    if (pwrite(mark->fd, &record, sizeof record, 0) == sizeof record)
        return 0;
    return error_system(error, errno, "cannot write the mark of the last commit");
}

int commit_mark_open(struct commit_mark *mark, const char *path, struct error *error)
{
    char name[PATH_MAX];
    struct stat status;

    if (mark_path(name, path, error) != 0)
        return -1;
    if (stat(path, &status) != 0)
        return error_system(error, errno, "%s: cannot look at it", path);
    read_boot(mark->boot);
    mark->device = status.st_dev;
    mark->inode = status.st_ino;
    mark->fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (mark->fd >= 0)
        return write_mark_record(mark, NULL, error);
    mark->fd = 0;
    return error_system(error, errno, "%s: cannot open it", name);
}

int commit_mark_announce(struct commit_mark *mark, uint64_t total, struct error *error)
{
    if (mark->fd == 0 || total == mark->next)
        return 0;
    mark->next = total;
    return write_mark_record(mark, NULL, error);
}

int commit_mark_confirm(struct commit_mark *mark, struct error *error)
{
    if (mark->fd == 0 || mark->last == mark->next)
        return 0;
    mark->last = mark->next;
    return write_mark_record(mark, NULL, error);
}

int commit_mark_still_there(const struct commit_mark *mark, const char *path, struct error *error)
{
    struct stat status;

    if (mark->fd == 0)
        return 0;
    if (stat(path, &status) == 0 && status.st_dev == mark->device && status.st_ino == mark->inode)
        return 0;
    return error_set(error, ERROR_SYSTEM,
                     "%s: the store was deleted or replaced while it was in use; what was done in "
                     "it since is lost",
                     path);
}

void commit_mark_close(struct commit_mark *mark, const char *path, bool sound)
{
    struct stat status;
    struct error ignored;

    if (mark->fd == 0)
        return;
    /* If that fails, the next store_open() reads all pages. */
    if (sound && commit_mark_still_there(mark, path, &ignored) == 0 && stat(path, &status) == 0)
        (void)write_mark_record(mark, &status, &ignored);
    (void)close(mark->fd); /* it need not reach the disk */
    mark->fd = 0;
}
