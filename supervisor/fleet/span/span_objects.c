/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/span/span_objects.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/io.h"

static int span_objects_path(struct fleet_transport *transport, const char *hash,
                             char path[PATH_MAX], struct error *error)
{
    const struct span_objects *objects = (const struct span_objects *)transport;

    if (snprintf(path, PATH_MAX, "%s/object-%s", objects->folder, hash) >= PATH_MAX)
        return error_set(error, ERROR_SYSTEM, "%s: its path is too long", objects->folder);
    return 0;
}

static bool keeps_nothing(const struct fleet_transport *transport)
{
    return ((const struct span_objects *)transport)->folder == NULL;
}

static int has_object(struct fleet_transport *transport, const char *hash, bool *found,
                      struct error *error)
{
    char path[PATH_MAX];

    *found = false;
    if (keeps_nothing(transport))
        return 0;
    if (span_objects_path(transport, hash, path, error) != 0)
        return -1;
    *found = access(path, F_OK) == 0;
    return *found || errno == ENOENT ? 0 : error_system(error, errno, "cannot look for %s", path);
}

static int put_object(struct fleet_transport *transport, const char *hash, int packed,
                      struct error *error)
{
    char path[PATH_MAX];
    int fd, result = 0;

    if (keeps_nothing(transport))
        return 0;
    if (span_objects_path(transport, hash, path, error) != 0)
        return -1;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || io_copy_all(packed, fd) != 0)
        result = error_system(error, errno, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    return result;
}

static int get_object(struct fleet_transport *transport, const char *hash, int *packed,
                      struct error *error)
{
    char path[PATH_MAX];

    if (span_objects_path(transport, hash, path, error) != 0)
        return -1;
    if (io_open_file(AT_FDCWD, path, O_NOFOLLOW, UINT64_MAX, packed, error) != 0)
        return -1;
    return *packed >= 0 ? 0 : error_set(error, ERROR_INPUT, "%s: its source has it no more", hash);
}

struct fleet_transport *span_objects_init(struct span_objects *objects, const char *folder)
{
    static const struct fleet_operations operations = {
        .has_object = has_object,
        .put_object = put_object,
        .get_object = get_object,
    };

    *objects = (struct span_objects){.transport = {.operations = &operations}, .folder = folder};
    return &objects->transport;
}
