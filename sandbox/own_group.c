/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/own_group.h"

#include <stdio.h>
#include <string.h>

#include "base/io.h"

enum { FILE_SIZE_MAX = 1024 * 1024 };

/* Of the line "0::/PATH", see cgroups(7). */
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

/* A mount shows the hierarchy from `root` on. */
static bool join(const char *root, const char *place, const char *path, char folder[PATH_MAX])
{
    const size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    int written;

    if (strncmp(path, root, length) != 0 || (path[length] != '/' && path[length] != '\0'))
        return false;
    written = snprintf(folder, PATH_MAX, "%s%s", place,
                       strcmp(path + length, "/") == 0 ? "" : path + length);
    return written > 0 && written < PATH_MAX;
}

/* One line of mountinfo, see proc(5); *folder is filled if it is of cgroup2 and shows the path.
 * A place with blanks, which are escaped there, is passed over. */
static bool take_mount(const char *line, size_t length, const char *path, char folder[PATH_MAX])
{
    static const char type[] = " - cgroup2 ";
    char text[2 * PATH_MAX], root[PATH_MAX], place[PATH_MAX];

    if (length >= sizeof text || memmem(line, length, type, sizeof type - 1) == NULL)
        return false;
    memcpy(text, line, length);
    text[length] = '\0';
    _Static_assert(PATH_MAX == 4096, "the lengths below");
    return sscanf(text, "%*s %*s %*s %4095s %4095s", root, place) == 2 &&
           strchr(place, '\\') == NULL && join(root, place, path, folder);
}

bool own_group_parse(const char *groups, const char *mounts, char folder[PATH_MAX])
{
    char path[PATH_MAX];

    if (!take_path(groups, path))
        return false;
    for (const char *line = mounts; *line != '\0';) {
        const size_t length = strcspn(line, "\n");

        if (take_mount(line, length, path, folder))
            return true;
        line += length + (line[length] == '\n');
    }
    return false;
}

bool own_group_find(char folder[PATH_MAX])
{
    struct buf groups = {0}, mounts = {0};
    struct error ignored;
    bool found = false;

    if (io_read_file("/proc/self/cgroup", FILE_SIZE_MAX, &groups, &ignored) == 0 &&
        io_read_file("/proc/self/mountinfo", FILE_SIZE_MAX, &mounts, &ignored) == 0 &&
        buf_string(&groups) != NULL && buf_string(&mounts) != NULL)
        found = own_group_parse(groups.data, mounts.data, folder);
    buf_free(&groups);
    buf_free(&mounts);
    return found;
}
