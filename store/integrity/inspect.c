/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "store/format/database.h"
#include "store/integrity/check.h"
#include "store/integrity/lost_rows.h"
#include "store/integrity/page_vfs.h"
#include "store/integrity/rows.h"
#include "store/statements.h"
#include "store/store_internal.h"

/* ---- whether the pages can be used ---- */

enum verdict { VERDICT_REFUSED, VERDICT_PAGES_TRUSTED, VERDICT_PAGES_CHECKED };

static void log_damaged_rows(const struct store *store, int64_t count, bool is_changed)
{
    if (count == 0 && !is_changed)
        return;
    if (count == 0)
        log_line("%s: another program or the disk changed pages; all rows are whole and are used",
                 store->path);
    else
        log_line("%s: rows are damaged: %" PRId64 ", which gaspipe verify lists; a vat that needs "
                 "one goes into quarantine",
                 store->path, count);
}

static enum verdict refuse_store(const struct error *problem, struct error *error)
{
    static const char advice[] = "; restore the store from a copy";
    const bool has_advice = strstr(problem->text, advice) != NULL;

    error_set(error, ERROR_SYSTEM, "%.900s%s", problem->text, has_advice ? "" : advice);
    return VERDICT_REFUSED;
}

/* While the structure of the file is damaged, rows seem to be missing that are there. `is_changed`:
 * pages do not match their checksums; else there are empty ones only. */
static enum verdict judge_rows(struct store *store, bool is_changed, struct error *error)
{
    struct store_check file = {0}, rows = {0};
    struct error problem = {0};
    const bool is_whole = store_check_file(store, &file, &problem) == 0 && file.problems == 0;

    if (store_check_rows(store, &rows, &problem) == 0 || rows.general.kind != ERROR_NONE)
        problem = rows.general;
    if (!rows.keys_whole || (is_whole && problem.kind != ERROR_NONE))
        return refuse_store(&problem, error);
    if (is_whole) {
        log_damaged_rows(store, rows.problems, is_changed);
        return VERDICT_PAGES_TRUSTED;
    }
    return VERDICT_PAGES_CHECKED;
}

/* Over a connection of its own: no page that was read unchecked stays in the store's cache, and
 * statements of the store may be in use. */
static enum verdict judge_store(const struct store *store, bool is_changed, struct error *error)
{
    struct store *reader = database_new(store->path, error);
    enum verdict verdict = VERDICT_REFUSED;
    enum schema_state state;

    if (reader == NULL)
        return VERDICT_REFUSED;
    reader->reads_only = true;
    if (database_open(reader, SQLITE_OPEN_READONLY, &state, error) == 0 &&
        statements_prepare(reader, error) == 0)
        verdict = judge_rows(reader, is_changed, error);
    database_free(reader);
    return verdict;
}

static void log_unused_pages(const struct store *store)
{
    log_line("%s: the structure of the file is damaged: a vat that needs a damaged page goes into "
             "quarantine%s",
             store->path,
             store->reads_only ? "" : "; the next run makes the file again from what can be read");
}

static bool trusts_pages(void *context)
{
    const struct store *store = context;
    struct error ignored; /* the damaged page is reported */
    const enum verdict verdict = judge_store(store, true, &ignored);

    if (verdict == VERDICT_PAGES_CHECKED)
        log_unused_pages(store);
    return verdict == VERDICT_PAGES_TRUSTED;
}

/* ---- when it is opened ---- */

enum { SMALL_FILE = 64 << 20 };

static void check_pages(struct store *store)
{
    const struct page_judge judge = {
        .trusts = trusts_pages, .context = store, .repairs = !store->reads_only};

    page_vfs_check(store->database, &judge);
}

static void log_rebuilt(const struct store *store, const struct store_losses *losses)
{
    if (losses->rows == 0 && losses->contents == 0)
        log_line("%s: only its indexes were damaged: it was made again from its rows, which are "
                 "whole",
                 store->path);
    else
        log_line("%s: pages are lost, and with them rows of vats: %" PRId64
                 "%s%.*s%s; snapshots and bundles: %" PRId64 ". The file was made again from the "
                 "other rows; a vat that needs a lost one goes into quarantine",
                 store->path, losses->rows, losses->rows > 0 ? " (" : "", (int)losses->vats.length,
                 losses->rows > 0 ? losses->vats.data : "", losses->rows > 0 ? ")" : "",
                 losses->contents);
}

/* Where running hashes are lost, only the mark says that nothing else is. */
static int read_rebuilt(struct store *store, const struct store_losses *losses, struct error *error)
{
    bool untouched;

    if (running_sums_read_total(store, &store->sums.total, error) != 0)
        return -1;
    return losses->hashes ? commit_mark_check(store->path, store->sums.total, &untouched, error)
                          : 0;
}

/* The structure of the file is damaged. */
static int rebuild_file(struct store *store, struct error *error)
{
    struct store_losses losses = {0};
    bool rebuilt = false;
    int result = store->reads_only ? 0 : store_rebuild(store, &losses, &rebuilt, error);

    if (result == 0 && rebuilt)
        result = read_rebuilt(store, &losses, error);
    if (result == 0 && rebuilt)
        log_rebuilt(store, &losses);
    else if (result == 0)
        log_unused_pages(store);
    buf_free(&losses.vats);
    return result;
}

static int inspect_pages(struct store *store, struct error *error)
{
    enum verdict verdict = VERDICT_PAGES_CHECKED;
    struct page_counts pages;
    bool is_damaged;

    if (page_vfs_scan(store->database, false, &pages, error) != 0)
        return -1;
    is_damaged = pages.damaged + pages.empty > 0;
    if (is_damaged)
        verdict = judge_store(store, pages.damaged > 0, error);
    store->was_changed = store->was_changed || is_damaged;
    if (verdict == VERDICT_PAGES_TRUSTED && store->reads_only)
        return 0;
    if (verdict == VERDICT_REFUSED || (verdict == VERDICT_PAGES_TRUSTED &&
                                       page_vfs_scan(store->database, true, &pages, error) != 0))
        return -1;
    if (verdict == VERDICT_PAGES_CHECKED && is_damaged && rebuild_file(store, error) != 0)
        return -1;
    page_vfs_check(store->database, NULL);
    return 0;
}

/* All pages of a small file are always read, in milliseconds, because only before the file is in
 * use can it be made again. */
static bool is_small(const struct store *store)
{
    struct stat status;

    return stat(store->path, &status) == 0 && status.st_size <= SMALL_FILE;
}

/* The running hashes may be on a lost page. */
static int inspect(struct store *store, struct error *error)
{
    bool untouched = false;

    if (running_sums_read_total(store, &store->sums.total, error) != 0) {
        if (!error->is_damage || store->reads_only)
            return -1;
    } else if (commit_mark_check(store->path, store->sums.total, &untouched, error) != 0) {
        return -1;
    }
    store->was_changed = !untouched;
    if (!untouched || page_vfs_is_suspect(store->database) || is_small(store))
        return inspect_pages(store, error);
    check_pages(store);
    return 0;
}

int inspect_store(struct store *store, struct error *error)
{
    if (inspect(store, error) != 0 || lost_rows_look(store, error) != 0)
        return -1;
    store->mark.last = store->mark.next = store->sums.total;
    return commit_mark_open(&store->mark, store->path, error);
}

/* While a run writes the store, comparing it with its mark would fail at random. */
static bool is_in_use(const char *directory)
{
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool in_use;

    if (fd < 0)
        return false;
    in_use = flock(fd, LOCK_SH | LOCK_NB) != 0;
    (void)close(fd); /* nothing was written to it */
    return in_use;
}

int inspect_reader(struct store *store, const char *directory, struct error *error)
{
    if (is_in_use(directory)) {
        check_pages(store);
        /* The run has checked all pages, and repaired those that it could. */
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
    return is_in_use(directory) ? 0 : -1;
}
