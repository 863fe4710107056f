/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VERIFY_H
#define GASPIPE_SUPERVISOR_VERIFY_H

#include "base/option/option.h"

extern const struct option_table verify_options_table;

/* `gaspipe verify`: argv[0] is "verify". Returns the exit status. */
int verify_command(int argc, char **argv);

#endif
