/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_STATUS_H
#define GASPIPE_SUPERVISOR_STATUS_H

#include "base/option/option.h"

extern const struct option_table status_options_table;

/* `gaspipe status`: argv[0] is "status". Returns the exit status. */
int status_command(int argc, char **argv);

#endif
