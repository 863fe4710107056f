/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OPTION_MANUAL_H
#define GASPIPE_BASE_OPTION_MANUAL_H

#include "base/error.h"

/*
 * Opens the manual page PROGRAM-COMMAND(1), or PROGRAM(1) if the command is NULL, in man(1). The
 * page is that of the program's build tree or installation. Without man(1) or a page it returns
 * -1 with ERROR_SYSTEM; otherwise this process becomes man(1).
 */
int manual_open(const char *program, const char *command, struct error *error);

#endif
