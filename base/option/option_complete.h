/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OPTION_OPTION_COMPLETE_H
#define GASPIPE_BASE_OPTION_OPTION_COMPLETE_H

#include <stddef.h>

#include "base/option/option.h"

/* A command of a program, for completion. */
struct option_command {
    const char *name; /* may be two words, "fleet submit"; NULL: the command without a name, whose
                       * operands are files */
    const struct option_table *table; /* NULL: without options; operands are names of commands */
};

/*
 * Completion scripts for a shell, printed to stdout. How the value of an option is completed
 * follows from its row (option_value_kind()). `commands` ends with a member that is all zeros.
 */
void option_complete_bash(const char *program, const struct option_command *commands);
void option_complete_zsh(const char *program, const struct option_command *commands);
void option_complete_fish(const char *program, const struct option_command *commands);

/*
 * The option --completion of a program, if argv[1] is that: prints the script for the shell in
 * argv[2]. The exit status; -1: argv[1] is something else.
 */
int option_complete_command(const char *program, const struct option_command *commands, int argc,
                            char **argv);

enum option_value_kind {
    OPTION_VALUE_NONE, /* a flag */
    OPTION_VALUE_WORDS,
    OPTION_VALUE_DIRECTORY, /* the metavariable is DIR */
    OPTION_VALUE_FILE,      /* it contains FILE, PATH or DIR */
    OPTION_VALUE_PAIR,      /* NAME=FILE */
    OPTION_VALUE_TEXT,      /* not completed */
};

enum option_value_kind option_value_kind(const struct option_row *row);

/* Whether the option may be given more than once. */
bool option_repeats(const struct option_row *row);

/* The length of the help's first clause, which fits next to an option. */
size_t option_summary(const struct option_row *row);

bool option_command_is_last(const struct option_command *command);

/*
 * Prints the first words of the commands, or with `first` the words that follow this one, with
 * blanks between. Returns how many there are.
 */
size_t option_print_commands(const struct option_command *commands, const char *first);

#endif
