/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/scratch_folder.h"

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

void scratch_folder_clear(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;

    if (folder == NULL)
        return;
    /* cppcheck-suppress readdirCalled ; nobody else reads this folder */
    while ((entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    (void)closedir(folder);
}

/* Only a folder that has this file is a worker's, whatever its name is. */
static const char lock_name[] = ".gaspipe-worker";

/* The lock of that folder, or -1: its owner lives, or it is none of ours. */
static int lock_folder(const char *path, int flags)
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

static void remove_folder(const char *path)
{
    char name[PATH_MAX + sizeof lock_name + 1];

    scratch_folder_clear(path);
    snprintf(name, sizeof name, "%s/%s", path, lock_name);
    (void)unlink(name);
    (void)rmdir(path); /* or it has what is not ours */
}

static void remove_abandoned(const char *place)
{
    DIR *folder = opendir(place);
    const struct dirent *entry;
    char path[PATH_MAX];

    if (folder == NULL)
        return;
    /* cppcheck-suppress readdirCalled ; nobody else reads this folder */
    while ((entry = readdir(folder)) != NULL) {
        int lock;

        if (strncmp(entry->d_name, scratch_name, sizeof scratch_name - 1) != 0 ||
            snprintf(path, sizeof path, "%s/%s", place, entry->d_name) >= (int)sizeof path)
            continue;
        lock = lock_folder(path, 0);
        if (lock < 0)
            continue;
        remove_folder(path);
        close(lock);
    }
    (void)closedir(folder);
}

/* Another worker may have removed it before it was locked. */
static int is_removed(int lock)
{
    struct stat status;

    return fstat(lock, &status) != 0 || status.st_nlink == 0;
}

int scratch_folder_open(struct scratch_folder *folder, struct error *error)
{
    const char *place = temporary_file_place();

    *folder = (struct scratch_folder){.lock = -1};
    remove_abandoned(place);
    for (int tries = 0; tries < TRIES && folder->lock < 0; tries++) {
        snprintf(folder->path, sizeof folder->path, "%s/%sXXXXXX", place, scratch_name);
        if (mkdtemp(folder->path) == NULL) {
            folder->path[0] = '\0';
            return error_system(error, errno, "cannot make a folder in %s", place);
        }
        folder->lock = lock_folder(folder->path, O_CREAT | O_EXCL);
        if (folder->lock >= 0 && is_removed(folder->lock)) {
            close(folder->lock);
            folder->lock = -1;
        }
    }
    return folder->lock >= 0 ? 0
                             : error_set(error, ERROR_SYSTEM, "cannot lock a folder in %s", place);
}

void scratch_folder_close(struct scratch_folder *folder)
{
    if (folder->path[0] != '\0')
        remove_folder(folder->path);
    if (folder->lock >= 0)
        close(folder->lock);
    folder->lock = -1;
}
