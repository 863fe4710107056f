/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/inspect.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/log.h"
#include "store/integrity/check.h"
#include "store/integrity/page_vfs.h"
#include "store/store_error.h"
#include "store/store_internal.h"

static void keep_line(void *context, const char *line)
{
    struct error *first = context;

    if (first->kind == ERROR_NONE)
        error_set(first, ERROR_SYSTEM, "%s", line);
}

/* Both say more than a page's number. */
static int require_whole(struct store *store, struct error *error)
{
    struct error first = {0};
    struct store_check check = {.context = &first, .damaged = keep_line};
    const int read = store_check_rows(store, &check, error);

    if (read == 0 && check.problems == 0 && store_check_file(store, &check, error) != 0)
        return -1;
    if (check.problems == 0)
        return read;
    *error = first;
    return -1;
}

static int repair(struct store *store, int64_t damaged, struct error *error)
{
    if (page_vfs_scan(store->database, true, &damaged, error) != 0)
        return -1;
    log_line("%s: another program changed %" PRId64 " pages; all rows are whole, and go on",
             store->path, damaged);
    return 0;
}

/* *checkable: each page matches its checksum now. */
static int inspect_pages(struct store *store, bool *checkable, struct error *error)
{
    int64_t damaged;

    *checkable = true;
    if (page_vfs_scan(store->database, false, &damaged, error) != 0)
        return -1;
    if (damaged == 0)
        return 0;
    *checkable = !store->reads_only;
    if (require_whole(store, error) != 0)
        return -1;
    return store->reads_only ? 0 : repair(store, damaged, error);
}

static int inspect(struct store *store, struct error *error)
{
    bool untouched, checkable = true;

    if (running_sums_read_total(store, &store->sums.total, error) != 0 ||
        commit_mark_check(store->path, store->sums.total, &untouched, error) != 0 ||
        ((!untouched || page_vfs_is_suspect(store->database)) &&
         inspect_pages(store, &checkable, error) != 0))
        return -1;
    if (checkable)
        page_vfs_check(store->database);
    return 0;
}

int inspect_store(struct store *store, struct error *error)
{
    if (inspect(store, error) != 0)
        return -1;
    store->mark.last = store->mark.next = store->sums.total;
    return commit_mark_open(&store->mark, store->path, error);
}

/* A store that is being written changes under one who compares it with its mark. */
static bool is_in_use(const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool in_use;

    if (fd < 0)
        return false;
    in_use = flock(fd, LOCK_SH | LOCK_NB) != 0;
    (void)close(fd); /* of a folder that was only read */
    return in_use;
}

int inspect_reader(struct store *store, const char *folder, struct error *error)
{
    if (is_in_use(folder)) {
        page_vfs_check(store->database);
        /* The run that has it has checked all pages, or mended them. */
        if (page_vfs_is_suspect(store->database))
            return store_error_set(store, error, ERROR_SYSTEM,
                                   "the store is damaged: page %" PRId64
                                   " does not match its checksum",
                                   page_vfs_damaged());
        return 0;
    }
    if (inspect(store, error) == 0)
        return 0;
    /* A run may have begun in between. */
    return is_in_use(folder) ? 0 : -1;
}
