/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OPTIONS_H
#define GASPIPE_TOOLS_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "tools/render.h"

/* What the command line asks of slogreport. */
struct options {
    bool help, version;
    bool strict; /* a line that is no slog line is an error */
    const struct render_ops *render;
    char **files; /* borrowed from argv; ended by NULL */
};

/* -1 with ERROR_USAGE when it does not make sense. */
int options_parse(int argc, char **argv, struct options *options, struct error *error);

#endif
