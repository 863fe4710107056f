/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COMMANDS_H
#define GASPIPE_SUPERVISOR_COMMANDS_H

#include "base/option/option.h"

/*
 * Subcommands of gaspipe; fleet has a header of its own. argv[0] is the subcommand; each returns
 * the exit status.
 */
int run_command(int argc, char **argv);
int replay_command(int argc, char **argv);
int status_command(int argc, char **argv);
int verify_command(int argc, char **argv);
int compile_command(int argc, char **argv);
int convert_command(int argc, char **argv);
int count_command(int argc, char **argv);
int estimate_command(int argc, char **argv);
int ping_command(int argc, char **argv);
int trace_command(int argc, char **argv);

extern const struct option_table status_options_table;
extern const struct option_table verify_options_table;
extern const struct option_table compile_options_table;
extern const struct option_table convert_options_table;

#endif
