/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_COMPARE_STAMPS_H
#define GASPIPE_TOOLS_COMMAND_COMPARE_STAMPS_H

#include <stdbool.h>

#include "base/error.h"
#include "tools/command/options.h"

/*
 * Pipe times are comparable only if they end at the same moments in all files. All zeros before the
 * first file; names are borrowed.
 */
struct compare_stamps {
    const char *client, *lines; /* a file with the client's stamps, one without */
};

/* -1 with ERROR_USAGE if --stamps client is given and this file differs from those before. */
static inline int compare_stamps_add(struct compare_stamps *stamps, const struct options *options,
                                     const char *file, bool client, struct error *error)
{
    *(client ? &stamps->client : &stamps->lines) = file;
    if (options->stamps == 0 || stamps->client == NULL || stamps->lines == NULL)
        return 0;
    return error_set(error, ERROR_USAGE,
                     "--stamps client: %s has stamps of the worker's client and %s has none, so "
                     "their pipe times are not comparable; leave --stamps out",
                     stamps->client, stamps->lines);
}

#endif
