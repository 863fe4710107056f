/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *temporary_file_place(void)
{
    const char *place = getenv("TMPDIR");

    return place != NULL && place[0] != '\0' ? place : "/tmp";
}

/* Where the file system knows no files without names, such as NFS. */
static int open_and_unlink(const char *place)
{
    char path[PATH_MAX];
    int fd;

    if (snprintf(path, sizeof path, "%s/gaspipe-XXXXXX", place) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path); /* else a file stays behind, and all else goes on */
    return fd;
}

int temporary_file_open(struct error *error)
{
    return temporary_file_open_in(temporary_file_place(), error);
}

int temporary_file_open_in(const char *place, struct error *error)
{
    int fd = open(place, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
        fd = open_and_unlink(place);
    if (fd >= 0)
        return fd;
    return error_system(error, errno, "cannot make a file in %s", place);
}
