/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/snapshot_place.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"

/* The descriptor that "@N" or "@N:WORDS" names; -1: there is none. */
static int named(const char *place)
{
    const char *at = place + 1;
    uint64_t number;

    if (place[0] != '@' || !number_take(&at, &number) || (*at != '\0' && *at != ':') ||
        number > INT_MAX)
        return -1;
    return (int)number;
}

FILE *snapshot_place_open(const char *place, const char *mode_of_path,
                          const char *mode_of_descriptor)
{
    FILE *file;
    int fd;

    if (place[0] != '@')
        return fopen(place, mode_of_path);
    fd = dup(named(place));
    if (fd < 0)
        return NULL;
    file = fdopen(fd, mode_of_descriptor);
    if (file == NULL)
        close(fd);
    return file;
}

void snapshot_place_leave(const char *place)
{
    int fd = named(place);
    struct stat file;

    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode))
        (void)close(fd);
}
