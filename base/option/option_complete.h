/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OPTION_OPTION_COMPLETE_H
#define GASPIPE_BASE_OPTION_OPTION_COMPLETE_H

#include "base/option/option.h"

/* A command of a program, for completion. */
struct option_command {
    const char *name; /* NULL: the command without a name, whose operands are files */
    const struct option_table *table; /* NULL: without options; operands are names of commands */
    unsigned bit;                     /* of `commands` in the table's rows; 0: all rows apply */
};

/*
 * Prints a completion script for bash. What is completed as the value of an option follows from
 * its row: its words, if it has any; otherwise folders if its metavariable is DIR,
 * files if it contains FILE, PATH or DIR, and nothing for anything else. `commands` ends with a
 * member that is all zeros. -1: stdout cannot be written to.
 */
int option_complete(const char *program, const struct option_command *commands);

/*
 * The option --completion of a program, if argv[1] is that: prints the script for the shell in
 * argv[2], which is "bash". The exit status; -1: argv[1] is something else.
 */
int option_complete_command(const char *program, const struct option_command *commands, int argc,
                            char **argv);

#endif
