/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    int resource;
    const char *name;
    rlim_t most;
} limits[] = {
    {RLIMIT_CORE, "core files", 0},
    {RLIMIT_NOFILE, "descriptors", 64}, /* a worker has six, QEMU some ten more */
    {RLIMIT_FSIZE, "file sizes", (rlim_t)4 << 30},
    /*
     * XS's heap has at most 2 GiB, twice that for a moment while it grows; the rest of a worker,
     * with QEMU, reserves less than 2 GiB. RLIMIT_DATA would not limit it: memory mapped over a
     * reservation is not counted.
     */
    {RLIMIT_AS, "addresses", (rlim_t)16 << 30},
    {RLIMIT_MEMLOCK, "locked memory", 0},
    {RLIMIT_MSGQUEUE, "message queues", 0},
};

int sandbox_limit_resources(struct error *error)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit limit;

        if (getrlimit((__rlimit_resource_t)limits[i].resource, &limit) != 0)
            return error_system(error, errno, "cannot read the limit of %s", limits[i].name);
        if (limit.rlim_max > limits[i].most)
            limit.rlim_max = limits[i].most;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit((__rlimit_resource_t)limits[i].resource, &limit) != 0)
            return error_system(error, errno, "cannot limit %s", limits[i].name);
    }
    return 0;
}

/* Writes `text` to a file of the process's directory in /proc. */
static bool write_proc_file(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written;

    if (fd < 0)
        return false;
    written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    return close(fd) == 0 && written;
}

/*
 * Maps the user to the same number in the user namespace: without one it could create no files,
 * also not in its own root.
 */
static bool keep_numbers(uid_t user, gid_t group)
{
    char users[64], groups[64];

    snprintf(users, sizeof users, "%u %u 1", user, user);
    snprintf(groups, sizeof groups, "%u %u 1", group, group);
    return write_proc_file("/proc/self/uid_map", users) &&
           write_proc_file("/proc/self/setgroups", "deny") &&
           write_proc_file("/proc/self/gid_map", groups);
}

void sandbox_enter_namespaces(unsigned *had)
{
    static const struct {
        int flag;
        enum sandbox_namespace name;
    } namespaces[] = {
        {CLONE_NEWUSER, SANDBOX_NAMESPACE_USER}, /* first: it gives the right to the others */
        {CLONE_NEWNET, SANDBOX_NAMESPACE_NETWORK},
        {CLONE_NEWIPC, SANDBOX_NAMESPACE_IPC},
    };

    const uid_t user = getuid();
    const gid_t group = getgid();

    *had = 0;
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++)
        if (unshare(namespaces[i].flag) == 0)
            *had |= namespaces[i].name;
    if ((*had & SANDBOX_NAMESPACE_USER) != 0 && !keep_numbers(user, group))
        *had &= ~(unsigned)SANDBOX_NAMESPACE_USER;
}

static int drop_capabilities(struct error *error)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
        return error_system(error, errno, "cannot clear the ambient capabilities");
    /*
     * Linux refuses capabilities above its last one. A process that may not drop one does not have
     * it.
     */
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM)
            return error_system(error, errno, "cannot drop capability %d", capability);
    if (syscall(SYS_capset, &header, none) != 0)
        return error_system(error, errno, "cannot drop the capabilities");
    return 0;
}

int sandbox_drop_privileges(struct error *error)
{
    if (drop_capabilities(error) != 0)
        return -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return error_system(error, errno, "cannot set no_new_privs");
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return error_system(error, errno, "cannot ask to be killed with the parent");
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return error_system(error, errno, "cannot refuse to be dumped");
    return 0;
}

/*
 * The paths that every worker needs, and the access to them; absent ones are not needed. Ends with
 * a path of NULL.
 */
enum sandbox_use {
    SANDBOX_EXECUTE, /* read and execute what is below it */
    SANDBOX_READ,    /* read it, and what is below it */
    SANDBOX_WRITE,   /* read and write it */
};

struct sandbox_place {
    const char *path; /* absolute */
    enum sandbox_use use;
};

static const struct sandbox_place sandbox_places[] = {
    {"/lib", SANDBOX_EXECUTE},          {"/lib64", SANDBOX_EXECUTE},
    {"/usr/lib", SANDBOX_EXECUTE},      {"/usr/local/lib", SANDBOX_EXECUTE},
    {"/etc/ld.so.cache", SANDBOX_READ}, {"/proc/self", SANDBOX_READ},
    {"/dev/null", SANDBOX_WRITE},       {NULL, SANDBOX_READ},
};

/* Linux's attributes up to ABI 6, and the rights that came after Debian 12's header
 * (include/uapi/linux/landlock.h of Linux 6.12). */
struct attributes {
    uint64_t handled_files;
    uint64_t handled_network;
    uint64_t scoped;
};

enum {
    FILE_RIGHTS_OF_ABI_1 = 13, /* bits 0 to 12 */
    FILE_TRUNCATE = 14,        /* the bit; ABI 3 */
    FILE_IOCTL = 15,           /* the bit; ABI 5 */
    TCP_BIND_AND_CONNECT = 3,
    SCOPE_SIGNALS_AND_ABSTRACT_SOCKETS = 3,
};

static const uint64_t read_directory = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t execute = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
static const uint64_t write_file = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
static const uint64_t rights_to_a_file =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_EXECUTE;

static struct attributes attributes_for(int abi)
{
    struct attributes all = {.handled_files = (UINT64_C(1) << FILE_RIGHTS_OF_ABI_1) - 1};

    if (abi >= 2)
        all.handled_files |= LANDLOCK_ACCESS_FS_REFER;
    if (abi >= 3)
        all.handled_files |= UINT64_C(1) << FILE_TRUNCATE;
    if (abi >= 4)
        all.handled_network = TCP_BIND_AND_CONNECT;
    if (abi >= 5)
        all.handled_files |= UINT64_C(1) << FILE_IOCTL;
    if (abi >= 6)
        all.scoped = SCOPE_SIGNALS_AND_ABSTRACT_SOCKETS;
    return all;
}

/* Linux refuses attributes beyond its own ABI. */
static size_t attributes_size(int abi)
{
    if (abi < 4)
        return offsetof(struct attributes, handled_network);
    return abi < 6 ? offsetof(struct attributes, scoped) : sizeof(struct attributes);
}

/* An absent path needs no rule. */
static int allow(int ruleset, const char *path, uint64_t rights, struct error *error)
{
    const int fd = open(path, O_PATH | O_CLOEXEC);
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
    struct stat status;
    int result = 0;

    if (fd < 0)
        return 0;
    if (fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode))
        rule.allowed_access &= rights_to_a_file;
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
        result = error_system(error, errno, "cannot let the worker reach %s", path);
    close(fd);
    return result;
}

static uint64_t rights_for(enum sandbox_use use)
{
    switch (use) {
    case SANDBOX_EXECUTE:
        return execute;
    case SANDBOX_WRITE:
        return write_file;
    case SANDBOX_READ:
        break;
    }
    return read_directory;
}

static int allow_all(int ruleset, const char *const *programs, struct error *error)
{
    for (const struct sandbox_place *place = sandbox_places; place->path != NULL; place++)
        if (allow(ruleset, place->path, rights_for(place->use), error) != 0)
            return -1;
    for (; *programs != NULL; programs++)
        if (allow(ruleset, *programs, execute, error) != 0)
            return -1;
    return 0;
}

int sandbox_restrict_paths(const char *const *programs, struct error *error)
{
    const long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct attributes attributes;
    int ruleset, result;

    if (abi <= 0)
        return 0;
    attributes = attributes_for((int)abi);
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, attributes_size((int)abi), 0);
    if (ruleset < 0)
        return error_system(error, errno, "cannot make a Landlock ruleset");
    result = allow_all(ruleset, programs, error);
    if (result == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        result = error_system(error, errno, "cannot enter the Landlock ruleset");
    close(ruleset);
    return result == 0 ? (int)abi : -1;
}

/* Creates the parent directories of `path`. */
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

/* A mount needs a mount point of the same kind. */
static int make_mount_point(int root, const char *path, bool is_directory, struct error *error)
{
    const int result =
        is_directory ? mkdirat(root, path, 0755) : mknodat(root, path, S_IFREG | 0644, 0);

    return result == 0 ? 0
                       : error_system(error, errno, "cannot make /%s in the worker's root", path);
}

/* Mounts the absolute `source` at `path` below the root. */
static int mount_at(int root, const char *source, bool is_directory, struct error *error)
{
    const char *const path = source + 1;
    const int tree =
        open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    int result = 0;

    if (tree < 0)
        return error_system(error, errno, "cannot mount %s in the worker's root", source);
    if (make_parents(root, path, error) != 0 ||
        make_mount_point(root, path, is_directory, error) != 0)
        result = -1;
    else if (move_mount(tree, "", root, path, MOVE_MOUNT_F_EMPTY_PATH) != 0)
        result = error_system(error, errno, "cannot mount %s in the worker's root", source);
    close(tree);
    return result;
}

/* Leaves out absent paths, and paths inside one that is already mounted. */
static int landlock_add_path(int root, const char *path, struct error *error)
{
    struct stat source, present;

    if (stat(path, &source) != 0 || fstatat(root, path + 1, &present, 0) == 0)
        return 0;
    return mount_at(root, path, S_ISDIR(source.st_mode), error);
}

/* Keeps links, as /lib often is, so that a library has one path in the process's maps. */
static int add_place(int root, const char *path, struct error *error)
{
    char target[PATH_MAX];
    struct stat status;

    if (lstat(path, &status) != 0 || !S_ISLNK(status.st_mode))
        return landlock_add_path(root, path, error);
    if (realpath(path, target) == NULL)
        return 0;
    if (landlock_add_path(root, target, error) != 0 || make_parents(root, path + 1, error) != 0)
        return -1;
    if (symlinkat(target, root, path + 1) != 0)
        return error_system(error, errno, "cannot make %s in the worker's root", path);
    return 0;
}

static int landlock_add_all(int root, const char *const *programs, struct error *error)
{
    for (const struct sandbox_place *place = sandbox_places; place->path != NULL; place++)
        if (add_place(root, place->path, error) != 0)
            return -1;
    for (; *programs != NULL; programs++)
        if (landlock_add_path(root, *programs, error) != 0)
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

/* Both are ".", so the old root is below the new one for a moment (pivot_root(2)). */
static int pivot_to_root(int root, struct error *error)
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
    /* Otherwise mounts here would appear outside, too. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return error_system(error, errno, "cannot make the mounts private");
    root = make_root(error);
    if (root < 0)
        return -1;
    if (move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0)
        result = error_system(error, errno, "cannot mount the worker's root");
    else if (landlock_add_all(root, programs, error) != 0 || pivot_to_root(root, error) != 0)
        result = -1;
    close(root);
    return result;
}
