/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/control_group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

enum { FILE_SIZE_MAX = 1024 * 1024 };

/* Takes the path of the line "0::/PATH", see cgroups(7). */
static bool take_path(const char *groups, char path[PATH_MAX])
{
    static const char unified[] = "0::/";

    for (const char *line = groups; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, unified, sizeof unified - 1) == 0) {
            const char *const found = line + sizeof unified - 2;
            const size_t length = strcspn(found, "\n");

            if (length >= PATH_MAX)
                return false;
            memcpy(path, found, length);
            path[length] = '\0';
            return true;
        }
    }
    return false;
}

/* A mount shows the hierarchy below `root`. */
static bool join_cgroup_path(const char *root, const char *place, const char *path,
                             char directory[PATH_MAX])
{
    const size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    int written;

    if (strncmp(path, root, length) != 0 || (path[length] != '/' && path[length] != '\0'))
        return false;
    written = snprintf(directory, PATH_MAX, "%s%s", place,
                       strcmp(path + length, "/") == 0 ? "" : path + length);
    return written > 0 && written < PATH_MAX;
}

/*
 * Parses a line of mountinfo (proc(5)). Sets *directory if it is a cgroup2 mount that shows the
 * path. Skips mount points with blanks, which are escaped there.
 */
static bool take_mount(const char *line, size_t length, const char *path, char directory[PATH_MAX])
{
    static const char type[] = " - cgroup2 ";
    char text[2 * PATH_MAX], root[PATH_MAX], place[PATH_MAX];

    if (length >= sizeof text || memmem(line, length, type, sizeof type - 1) == NULL)
        return false;
    memcpy(text, line, length);
    text[length] = '\0';
    _Static_assert(PATH_MAX == 4096, "the lengths below");
    return sscanf(text, "%*s %*s %*s %4095s %4095s", root, place) == 2 &&
           strchr(place, '\\') == NULL && join_cgroup_path(root, place, path, directory);
}

bool current_cgroup_parse(const char *groups, const char *mounts, char directory[PATH_MAX])
{
    char path[PATH_MAX];

    if (!take_path(groups, path))
        return false;
    for (const char *line = mounts; *line != '\0';) {
        const size_t length = strcspn(line, "\n");

        if (take_mount(line, length, path, directory))
            return true;
        line += length + (line[length] == '\n');
    }
    return false;
}

static bool current_cgroup_find(char directory[PATH_MAX])
{
    struct buf groups = {0}, mounts = {0};
    struct error ignored;
    bool found = false;

    if (io_read_file("/proc/self/cgroup", FILE_SIZE_MAX, &groups, &ignored) == 0 &&
        io_read_file("/proc/self/mountinfo", FILE_SIZE_MAX, &mounts, &ignored) == 0 &&
        buf_string(&groups) != NULL && buf_string(&mounts) != NULL)
        found = current_cgroup_parse(groups.data, mounts.data, directory);
    buf_free(&groups);
    buf_free(&mounts);
    return found;
}

/* The files of a group: Documentation/admin-guide/cgroup-v2.rst of Linux. */
#define CONTROLLERS "cgroup.subtree_control"
#define MEMBERS     "cgroup.procs"

#define DIRECTORY_PREFIX "gaspipe-"
#define OWN_PLACE        "supervisor"

/* QEMU takes four threads. */
static const char processes_max[] = "32";

/* PATH/NAME. False: too long. */
static bool cgroup_path_join(char path[PATH_MAX], const char *directory, const char *name)
{
    const int length = snprintf(path, PATH_MAX, "%s/%s", directory, name);

    return length > 0 && length < PATH_MAX;
}

/* Writes a file of the group. False with errno. */
static bool cgroup_write_file(const char *group, const char *name, const char *text)
{
    char path[PATH_MAX];
    ssize_t written;
    int fd, problem;

    errno = ENAMETOOLONG;
    fd = cgroup_path_join(path, group, name) ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    written = write(fd, text, strlen(text));
    problem = errno;
    (void)close(fd); /* the write took effect */
    errno = problem;
    return written >= 0;
}

/* Reads a file of the group, up to `size`. */
static bool cgroup_read_file(const char *group, const char *name, char *text, size_t size)
{
    char path[PATH_MAX];
    const int fd = cgroup_path_join(path, group, name) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t length;

    if (fd < 0)
        return false;
    length = read(fd, text, size - 1);
    (void)close(fd); /* it was only read */
    text[length > 0 ? length : 0] = '\0';
    return length >= 0;
}

/* ---- groups that other processes left over ---- */

/* Removes the directory and the groups in it, those that have no processes. */
static void remove_groups(const char *directory)
{
    DIR *entries = opendir(directory);
    const struct dirent *entry;
    char path[PATH_MAX];

    if (entries == NULL)
        return;
    /* cppcheck-suppress readdirCalled ; no other thread reads this directory */
    while ((entry = readdir(entries)) != NULL)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
            cgroup_path_join(path, directory, entry->d_name))
            (void)rmdir(path); /* EBUSY: it lives */
    (void)closedir(entries);
    (void)rmdir(directory);
}

/* Its owner locks it until it ends. */
static int lock_groups(const char *directory)
{
    const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd); /* nothing was written to it */
    return -1;
}

static void remove_left(const char *own)
{
    DIR *entries = opendir(own);
    const struct dirent *entry;
    char directory[PATH_MAX];
    int lock;

    if (entries == NULL)
        return;
    /* cppcheck-suppress readdirCalled ; no other thread reads this directory */
    while ((entry = readdir(entries)) != NULL) {
        if (strncmp(entry->d_name, DIRECTORY_PREFIX, sizeof DIRECTORY_PREFIX - 1) != 0 ||
            !cgroup_path_join(directory, own, entry->d_name) || (lock = lock_groups(directory)) < 0)
            continue;
        remove_groups(directory);
        (void)close(lock);
    }
    (void)closedir(entries);
}

/* ---- the directory ---- */

static bool is_alone(const char *group)
{
    char members[64], alone[32];

    snprintf(alone, sizeof alone, "%d\n", (int)getpid());
    return cgroup_read_file(group, MEMBERS, members, sizeof members) && strcmp(members, alone) == 0;
}

/* The hierarchy's root, which alone has no type, must not be changed. */
static bool is_root(const char *own)
{
    char type[32];

    return !cgroup_read_file(own, "cgroup.type", type, sizeof type);
}

static bool move_below(struct control_groups *groups)
{
    char place[PATH_MAX];

    if (!cgroup_path_join(place, groups->directory, OWN_PLACE) || mkdir(place, 0755) != 0)
        return false;
    groups->moved = cgroup_write_file(place, MEMBERS, "0");
    return groups->moved;
}

/* Delegates a controller to the groups of workers if this group has it. */
static bool pass_on(const struct control_groups *groups, const char *own, const char *controller)
{
    if (!is_root(own))
        (void)cgroup_write_file(own, CONTROLLERS, controller); /* fails if the write failed: */
    return cgroup_write_file(groups->directory, CONTROLLERS, controller);
}

static void pass_on_controllers(struct control_groups *groups, const char *own)
{
    if (!is_root(own) && is_alone(own) && !move_below(groups))
        return;
    groups->limit_memory = pass_on(groups, own, "+memory");
    groups->limit_processes = pass_on(groups, own, "+pids");
}

/* Another process may remove it before it is locked, but not many times. */
static bool make_groups_directory(struct control_groups *groups, const char *own)
{
    char name[32];

    snprintf(name, sizeof name, DIRECTORY_PREFIX "%d", (int)getpid());
    if (!cgroup_path_join(groups->directory, own, name))
        return false;
    for (int tries = 0; tries < 10; tries++) {
        if (mkdir(groups->directory, 0755) != 0 && errno != EEXIST)
            return false;
        groups->lock = lock_groups(groups->directory);
        if (groups->lock >= 0 && access(groups->directory, F_OK) == 0)
            return true;
        if (groups->lock >= 0)
            (void)close(groups->lock);
    }
    return false;
}

void control_groups_open(struct control_groups *groups)
{
    char own[PATH_MAX];

    *groups = (struct control_groups){.lock = -1};
    if (!current_cgroup_find(own) || access(own, W_OK) != 0)
        return;
    remove_left(own);
    if (make_groups_directory(groups, own))
        pass_on_controllers(groups, own);
    else
        groups->directory[0] = '\0';
}

static void move_back(struct control_groups *groups)
{
    char own[PATH_MAX], place[PATH_MAX];

    memcpy(own, groups->directory, sizeof own);
    *strrchr(own, '/') = '\0';
    (void)cgroup_write_file(groups->directory, CONTROLLERS, "-memory");
    (void)cgroup_write_file(groups->directory, CONTROLLERS, "-pids");
    (void)cgroup_write_file(own, CONTROLLERS, "-memory");
    (void)cgroup_write_file(own, CONTROLLERS, "-pids");
    /* If this fails, the next process that opens control groups removes the directory. */
    if (cgroup_write_file(own, MEMBERS, "0") &&
        cgroup_path_join(place, groups->directory, OWN_PLACE))
        (void)rmdir(place);
}

void control_groups_close(struct control_groups *groups)
{
    if (groups->directory[0] == '\0')
        return;
    if (groups->moved)
        move_back(groups);
    remove_groups(groups->directory);
    (void)close(groups->lock);
    groups->directory[0] = '\0';
}

/* ---- a worker's ---- */

static int cgroup_limit(const struct control_groups *groups, const char *path, uint64_t memory,
                        struct error *error)
{
    char bytes[32];

    snprintf(bytes, sizeof bytes, "%" PRIu64, memory);
    if ((memory > 0 && groups->limit_memory && !cgroup_write_file(path, "memory.max", bytes)) ||
        (groups->limit_processes && !cgroup_write_file(path, "pids.max", processes_max)))
        return error_system(error, errno, "cannot limit the control group of a worker");
    return 0;
}

int control_group_make(const struct control_groups *groups, uint64_t memory, char path[PATH_MAX],
                       struct error *error)
{
    static atomic_uint made;
    char name[32];

    path[0] = '\0';
    if (groups->directory[0] == '\0')
        return 0;
    snprintf(name, sizeof name, "worker-%u", atomic_fetch_add(&made, 1) + 1);
    errno = ENAMETOOLONG;
    if (!cgroup_path_join(path, groups->directory, name) || mkdir(path, 0755) != 0) {
        path[0] = '\0';
        return error_system(error, errno, "cannot make a control group for a worker");
    }
    if (cgroup_limit(groups, path, memory, error) == 0)
        return 0;
    control_group_end(path);
    path[0] = '\0';
    return -1;
}

void control_group_end(const char *path)
{
    if (path[0] == '\0')
        return;
    /* Killed processes may take a moment to exit; then the directory is removed with all others. */
    (void)cgroup_write_file(path, "cgroup.kill", "1");
    (void)rmdir(path);
}

int control_group_enter(const char *path, struct error *error)
{
    return is_alone(path) || cgroup_write_file(path, MEMBERS, "0")
               ? 0
               : error_system(error, errno, "cannot enter the control group %s", path);
}
