/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OPTION_OPTION_COMPLETE_H
#define GASPIPE_BASE_OPTION_OPTION_COMPLETE_H

#include "base/option/option.h"

/* A command of a program, for completion. */
struct option_command {
    const char *name; /* may be two words, "fleet submit"; NULL: the command without a name, whose
                       * operands are files */
    const struct option_table *table; /* NULL: without options; operands are names of commands */
};

/*
 * The option --completion of a program, if argv[1] is that: prints the script for the shell in
 * argv[2], bash, zsh or fish, to stdout. How the value of an option is completed follows from its
 * row. `commands` ends with a member that is all zeros. Returns the exit status; -1: argv[1] is
 * something else.
 */
int option_complete_command(const char *program, const struct option_command *commands, int argc,
                            char **argv);

#endif
