/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/engine.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"

/* The descriptor that "@N" or "@N:WORDS" names, duplicated; -1 with errno. */
static int duplicate_named(const char *place)
{
    const char *at = place + 1;
    uint64_t number;

    if (!number_take(&at, &number) || (*at != '\0' && *at != ':') || number > INT_MAX) {
        errno = EBADF;
        return -1;
    }
    return dup((int)number);
}

FILE *engine_open_place(const char *place, const char *mode_of_path, const char *mode_of_descriptor)
{
    FILE *file;
    int fd;

    if (place[0] != '@')
        return fopen(place, mode_of_path);
    fd = duplicate_named(place);
    if (fd < 0)
        return NULL;
    file = fdopen(fd, mode_of_descriptor);
    if (file == NULL)
        close(fd);
    return file;
}
