/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/paths/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/paths/places.h"

/* A folder for each part of `path` but its last one, where there is none. */
static int make_parents(int root, const char *path, struct error *error)
{
    char parent[PATH_MAX];

    for (const char *end = strchr(path, '/'); end != NULL; end = strchr(end + 1, '/')) {
        if (snprintf(parent, sizeof parent, "%.*s", (int)(end - path), path) >= PATH_MAX)
            return error_system(error, ENAMETOOLONG, "/%s", path);
        if (mkdirat(root, parent, 0755) != 0 && errno != EEXIST)
            return error_system(error, errno, "cannot make /%s in the worker's root", parent);
    }
    return 0;
}

/* A mount is put on something of its own kind. */
static int make_mount_point(int root, const char *path, bool is_folder, struct error *error)
{
    const int result =
        is_folder ? mkdirat(root, path, 0755) : mknodat(root, path, S_IFREG | 0644, 0);

    return result == 0 ? 0
                       : error_system(error, errno, "cannot make /%s in the worker's root", path);
}

/* What is at the absolute `source` is at `path`, too, below the root. */
static int mount_at(int root, const char *source, bool is_folder, struct error *error)
{
    const char *const path = source + 1;
    const int tree =
        open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    int result = 0;

    if (tree < 0)
        return error_system(error, errno, "cannot mount %s in the worker's root", source);
    if (make_parents(root, path, error) != 0 || make_mount_point(root, path, is_folder, error) != 0)
        result = -1;
    else if (move_mount(tree, "", root, path, MOVE_MOUNT_F_EMPTY_PATH) != 0)
        result = error_system(error, errno, "cannot mount %s in the worker's root", source);
    close(tree);
    return result;
}

/* What is not there is left out, and what lies inside of something else is there already. */
static int add_path(int root, const char *path, struct error *error)
{
    struct stat source, present;

    if (stat(path, &source) != 0 || fstatat(root, path + 1, &present, 0) == 0)
        return 0;
    return mount_at(root, path, S_ISDIR(source.st_mode), error);
}

/* A link stays a link, as /lib often is: a library has one path in the process's maps then. */
static int add_place(int root, const char *path, struct error *error)
{
    char target[PATH_MAX];
    struct stat status;

    if (lstat(path, &status) != 0 || !S_ISLNK(status.st_mode))
        return add_path(root, path, error);
    if (realpath(path, target) == NULL)
        return 0;
    if (add_path(root, target, error) != 0 || make_parents(root, path + 1, error) != 0)
        return -1;
    if (symlinkat(target, root, path + 1) != 0)
        return error_system(error, errno, "cannot make %s in the worker's root", path);
    return 0;
}

static int add_all(int root, const char *const *programs, struct error *error)
{
    for (const struct sandbox_place *place = sandbox_places; place->path != NULL; place++)
        if (add_place(root, place->path, error) != 0)
            return -1;
    for (; *programs != NULL; programs++)
        if (add_path(root, *programs, error) != 0)
            return -1;
    return 0;
}

/* An empty file system, not mounted yet; its descriptor, or -1. */
static int make_root(struct error *error)
{
    const int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
    int root = -1;

    if (context >= 0 && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        root = fsmount(context, FSMOUNT_CLOEXEC, 0);
    if (root < 0)
        error_system(error, errno, "cannot make the worker's root");
    if (context >= 0)
        close(context);
    return root;
}

/* The old root is below the new one for a moment, since both are "." (pivot_root(2)). */
static int change_root(int root, struct error *error)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID};

    if (mount_setattr(root, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) != 0)
        return error_system(error, errno, "cannot make the worker's root read-only");
    if (fchdir(root) != 0 || syscall(SYS_pivot_root, ".", ".") != 0)
        return error_system(error, errno, "cannot enter the worker's root");
    if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
        return error_system(error, errno, "cannot leave the old root");
    return 0;
}

int sandbox_enter_root(const char *const *programs, struct error *error)
{
    int root, result = 0;

    if (unshare(CLONE_NEWNS) != 0)
        return error_system(error, errno, "no mount namespace");
    /* Or what is mounted here would be mounted outside, too. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return error_system(error, errno, "cannot make the mounts private");
    root = make_root(error);
    if (root < 0)
        return -1;
    if (move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0)
        result = error_system(error, errno, "cannot mount the worker's root");
    else if (add_all(root, programs, error) != 0 || change_root(root, error) != 0)
        result = -1;
    close(root);
    return result;
}
