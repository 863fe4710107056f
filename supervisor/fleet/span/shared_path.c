/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/span/shared_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *shared_path_below(const char *folder, const char *path, struct error *error)
{
    char real_folder[PATH_MAX], real[PATH_MAX];
    size_t length;
    json_t *below;

    if (realpath(folder, real_folder) == NULL) {
        error_set(error, ERROR_INPUT, "--shared %s: %s", folder, strerror(errno));
        return NULL;
    }
    if (realpath(path, real) == NULL) {
        error_set(error, ERROR_INPUT, "%s: %s", path, strerror(errno));
        return NULL;
    }
    length = strlen(real_folder);
    if (strncmp(real, real_folder, length) != 0 || real[length] != '/') {
        error_set(error, ERROR_INPUT, "%s: it is not in the folder --shared %s", path, folder);
        return NULL;
    }
    below = json_string(real + length + 1);
    if (below == NULL)
        error_set(error, ERROR_INPUT, "%s: its path is not UTF-8, which --shared needs", path);
    return below;
}

bool shared_path_is(const json_t *value)
{
    const char *text = json_string_value(value);

    if (text == NULL || text[0] == '\0' || text[0] == '/')
        return false;
    for (const char *part = text; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return false;
    }
    return true;
}

int shared_path_find(const char *folder, const char *below, char path[PATH_MAX],
                     struct error *error)
{
    char real[PATH_MAX];

    if (folder == NULL)
        return error_set(error, ERROR_SYSTEM, "%s is in a shared folder: give it with --shared DIR",
                         below);
    if (realpath(folder, real) == NULL)
        return error_system(error, errno, "--shared %s", folder);
    if (snprintf(path, PATH_MAX, "%s/%s", real, below) >= PATH_MAX)
        return error_set(error, ERROR_INPUT, "%s: its path is too long", below);
    return 0;
}
