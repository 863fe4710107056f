/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "store/format/database.h"
#include "store/integrity/check.h"
#include "store/store_internal.h"

static struct store *new_in_directory(const char *directory, struct error *error)
{
    struct buf path = {0};
    struct store *store = NULL;

    if (directory != NULL)
        buf_printf(&path, "%s/gaspipe.sqlite", directory);
    else
        buf_append_string(&path, ":memory:");
    if (buf_string(&path) != NULL)
        store = database_new(path.data, error);
    else
        error_memory(error, "the store");
    buf_free(&path);
    return store;
}

/* The number, after a blank, that ends at this place of the line; 0: none. */
static long number_before(const char *line, const char *at)
{
    if (at == NULL)
        return 0;
    while (at > line && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at > line && at[-1] == ' ' ? strtol(at, NULL, 10) : 0;
}

/*
 * The process that holds the lock of that directory, of /proc/locks (proc(5)): "1: FLOCK ADVISORY
 * WRITE PID MAJOR:MINOR:INODE 0 EOF". 0: not found, as for a process of another container.
 */
static long lock_owner(int directory_fd)
{
    FILE *locks = fopen("/proc/locks", "re");
    char line[256], place[64];
    struct stat status;
    long owner = 0;

    if (locks == NULL)
        return 0;
    if (fstat(directory_fd, &status) == 0) {
        snprintf(place, sizeof place, " %02x:%02x:%ju ", major(status.st_dev), minor(status.st_dev),
                 (uintmax_t)status.st_ino);
        while (owner == 0 && fgets(line, sizeof line, locks) != NULL)
            owner = strstr(line, " FLOCK ") != NULL ? number_before(line, strstr(line, place)) : 0;
    }
    (void)fclose(locks); /* was only read */
    return owner;
}

static int store_in_use(const struct store *store, struct error *error)
{
    const long owner = lock_owner(store->directory_fd);

    return owner > 0 ? store_error_set(store, error, ERROR_SYSTEM,
                                       "the store is in use by process %ld", owner)
                     : store_error_set(store, error, ERROR_SYSTEM,
                                       "the store is in use by another process");
}

/* One process at a time. SQLite's own locks last only as long as its transactions. */
static int lock_store_directory(struct store *store, const char *directory, struct error *error)
{
    if (directory == NULL)
        return 0;
    store->directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store->directory_fd < 0)
        return error_system(error, errno, "%s: cannot open the store's directory", directory);
    if (flock(store->directory_fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return store_in_use(store, error);
    return error_system(error, errno, "%s: cannot lock the store's directory", directory);
}

static int make_store_directory(struct store *store, const char *directory, struct error *error)
{
    if (directory == NULL)
        return 0;
    store->made_directory = mkdir(directory, 0777) == 0;
    if (!store->made_directory && errno != EEXIST)
        return error_system(error, errno, "%s: cannot make the store's directory", directory);
    return 0;
}

struct store *store_open(const char *directory, struct error *error)
{
    struct store *store = new_in_directory(directory, error);
    enum schema_state state;

    if (store == NULL)
        return NULL;
    if (make_store_directory(store, directory, error) == 0 &&
        lock_store_directory(store, directory, error) == 0 &&
        database_open(store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &state, error) == 0 &&
        database_set_up(store, state, error) == 0 &&
        (directory == NULL || inspect_store(store, error) == 0)) {
        store->made_file = directory != NULL && state == SCHEMA_EMPTY;
        return store;
    }
    store_close(store);
    return NULL;
}

static int look_for_file(struct store *store, struct error *error)
{
    struct stat status;

    if (stat(store->path, &status) == 0)
        return 0;
    if (errno == ENOENT || errno == ENOTDIR)
        return store_error_set(store, error, ERROR_INPUT, "no such store");
    return error_system(error, errno, "%s: cannot look for the store", store->path);
}

/* A first run that was rolled back leaves tables without rows. */
static int refuse_without_keys(struct store *store, struct error *error)
{
    int64_t any;

    if (statements_query(store, "SELECT EXISTS (SELECT 1 FROM key)", &any, 1, error) != 0)
        return -1;
    return any != 0 ? 0
                    : store_error_set(store, error, ERROR_INPUT, "a store that holds nothing yet");
}

static int open_reader(struct store *store, const char *directory, struct error *error)
{
    enum schema_state state;

    if (look_for_file(store, error) != 0 ||
        database_open(store, SQLITE_OPEN_READONLY, &state, error) != 0)
        return -1;
    if (state == SCHEMA_EMPTY)
        return store_error_set(store, error, ERROR_INPUT, "a store that holds nothing yet");
    if (refuse_without_keys(store, error) != 0 || statements_prepare(store, error) != 0)
        return -1;
    return inspect_reader(store, directory, error);
}

struct store *store_open_reader(const char *directory, struct error *error)
{
    struct store *store = new_in_directory(directory, error);

    if (store == NULL)
        return NULL;
    store->reads_only = true;
    if (open_reader(store, directory, error) == 0)
        return store;
    store_close(store);
    return NULL;
}

bool store_was_changed(const struct store *store)
{
    return store->was_changed;
}

void store_close(struct store *store)
{
    database_free(store);
}

/* A store of this process, in which no transaction was committed. */
static bool holds_nothing(struct store *store)
{
    struct error ignored; /* then it is not known to hold nothing */
    int64_t any;

    if (!store->made_file)
        return false;
    if (store->begun)
        store_transaction_rollback(store);
    return statements_query(store, "SELECT EXISTS (SELECT 1 FROM key)", &any, 1, &ignored) == 0 &&
           any == 0;
}

void store_close_unused(struct store *store)
{
    static const char *const names[] = {"gaspipe.sqlite", "gaspipe.sqlite-wal",
                                        "gaspipe.sqlite-shm", "gaspipe.mark"};
    const bool unused = store != NULL && holds_nothing(store);
    const bool made_directory = unused && store->made_directory;
    /* Keeps the lock until the files are gone. */
    const int directory_fd = unused ? fcntl(store->directory_fd, F_DUPFD_CLOEXEC, 0) : -1;
    char *path = unused ? strdup(store->path) : NULL;

    store_close(store);
    if (directory_fd < 0 || path == NULL) {
        free(path);
        return;
    }
    /* A file that stays is an empty store. */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unlinkat(directory_fd, names[i], 0);
    *strrchr(path, '/') = '\0';
    if (made_directory)
        (void)rmdir(path);
    (void)close(directory_fd);
    free(path);
}

void store_watch(struct store *store,
                 void (*changed)(void *context, const struct store_changed *change), void *context)
{
    store->changed = changed;
    store->changed_context = context;
}
