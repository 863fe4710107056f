/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/scratch_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output/spool.h"

static const char scratch_name[] = "gaspipe-fleet-";

enum { TRIES = 10 };

void scratch_directory_clear(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;

    if (directory == NULL)
        return;
    /* cppcheck-suppress readdirCalled ; only this thread reads this directory */
    while ((entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    (void)closedir(directory);
}

/* Only a directory that has this file is a worker's, whatever its name is. */
static const char lock_name[] = ".gaspipe-worker";

/* Locks that directory. -1: its owner is alive, or it is not a worker's. */
static int lock_scratch_directory(const char *path, int flags)
{
    char name[PATH_MAX + sizeof lock_name + 1];
    int lock;

    snprintf(name, sizeof name, "%s/%s", path, lock_name);
    lock = open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        return lock;
    if (lock >= 0)
        close(lock);
    return -1;
}

static void remove_directory(const char *path)
{
    char name[PATH_MAX + sizeof lock_name + 1];

    scratch_directory_clear(path);
    snprintf(name, sizeof name, "%s/%s", path, lock_name);
    (void)unlink(name);
    (void)rmdir(path); /* fails if it has files of others */
}

static void remove_abandoned(const char *place)
{
    DIR *directory = opendir(place);
    const struct dirent *entry;
    char path[PATH_MAX];

    if (directory == NULL)
        return;
    /* cppcheck-suppress readdirCalled ; only this thread reads this directory */
    while ((entry = readdir(directory)) != NULL) {
        int lock;

        if (strncmp(entry->d_name, scratch_name, sizeof scratch_name - 1) != 0 ||
            snprintf(path, sizeof path, "%s/%s", place, entry->d_name) >= (int)sizeof path)
            continue;
        lock = lock_scratch_directory(path, 0);
        if (lock < 0)
            continue;
        remove_directory(path);
        close(lock);
    }
    (void)closedir(directory);
}

/* Another worker may have removed it before it was locked. */
static int is_removed(int lock)
{
    struct stat status;

    return fstat(lock, &status) != 0 || status.st_nlink == 0;
}

int scratch_directory_open(struct scratch_directory *directory, struct error *error)
{
    const char *place = temporary_file_place();

    *directory = (struct scratch_directory){.lock = -1};
    remove_abandoned(place);
    for (int tries = 0; tries < TRIES && directory->lock < 0; tries++) {
        snprintf(directory->path, sizeof directory->path, "%s/%sXXXXXX", place, scratch_name);
        if (mkdtemp(directory->path) == NULL) {
            directory->path[0] = '\0';
            return error_system(error, errno, "cannot make a directory in %s", place);
        }
        directory->lock = lock_scratch_directory(directory->path, O_CREAT | O_EXCL);
        if (directory->lock >= 0 && is_removed(directory->lock)) {
            close(directory->lock);
            directory->lock = -1;
        }
    }
    return directory->lock >= 0
               ? 0
               : error_set(error, ERROR_SYSTEM, "cannot lock a directory in %s", place);
}

void scratch_directory_close(struct scratch_directory *directory)
{
    if (directory->path[0] != '\0')
        remove_directory(directory->path);
    if (directory->lock >= 0)
        close(directory->lock);
    directory->lock = -1;
}
