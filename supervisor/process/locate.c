/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/locate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int locate_in(const char *installed, const char *name, char path[PATH_MAX],
                     struct error *error)
{
    const char *const places[] = {"", installed};
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);

    if (length < 0)
        return error_system(error, errno, "cannot read /proc/self/exe");
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int written = snprintf(path, PATH_MAX, "%s/%s%s", folder, places[i], name);

        if (written < PATH_MAX && access(path, R_OK) == 0)
            return 0;
    }
    return error_set(error, ERROR_SYSTEM, "%s is neither in %s nor in %s/%.*s", name, folder,
                     folder, (int)strlen(installed) - 1, installed);
}

int locate(const char *name, char path[PATH_MAX], struct error *error)
{
    return locate_in("../lib/gaspipe/", name, path, error);
}

int locate_data(const char *name, char path[PATH_MAX], struct error *error)
{
    return locate_in("../share/gaspipe/", name, path, error);
}
