/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/option/option_complete.h"

/* Within single quotes. */
static void fish_print_quoted(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        printf("%s%c", text[i] == '\'' || text[i] == '\\' ? "\\" : "", text[i]);
}

static void fish_print_value(const struct option_row *row)
{
    switch (option_value_kind(row)) {
    case OPTION_VALUE_NONE:
        break;
    case OPTION_VALUE_WORDS:
        printf(" -x -a '");
        for (size_t i = 0; row->words[i] != NULL; i++)
            printf("%s%s", i == 0 ? "" : " ", row->words[i]);
        printf("'");
        break;
    case OPTION_VALUE_DIRECTORY:
        printf(" -x -a '(__fish_complete_directories)'");
        break;
    case OPTION_VALUE_FILE:
    case OPTION_VALUE_PAIR:
        printf(" -r -F");
        break;
    case OPTION_VALUE_TEXT:
        printf(" -x");
        break;
    }
}

static void fish_print_start(const char *program, const char *command)
{
    printf("complete -c %s -n '__%s_is \"%s\"'", program, program, command);
}

static void fish_print_command(const char *program, const struct option_command *command)
{
    const char *name = command->name != NULL ? command->name : "";

    for (size_t i = 0; i < command->table->row_count; i++) {
        const struct option_row *row = &command->table->rows[i];

        if (row->kind == OPTION_HEADING || !option_row_is_shown(command->table, row))
            continue;
        fish_print_start(program, name);
        printf(" -l %s", row->name);
        if (row->letter != '\0')
            printf(" -s %c", row->letter);
        fish_print_value(row);
        printf(" -d '");
        fish_print_quoted(row->help, option_summary(row));
        printf("'\n");
    }
}

/* Names of commands, after `first` or as the first word. */
static void fish_print_names(const char *program, const struct option_command *commands,
                             const char *first)
{
    fish_print_start(program, first != NULL ? first : "");
    printf("%s -a '", first == NULL && commands[0].name == NULL ? "" : " -f");
    if (option_print_commands(commands, first) == 0)
        option_print_commands(commands, NULL);
    printf("'\n");
}

/* __PROGRAM_is COMMAND: true if the words before the cursor begin with the command. */
static void fish_print_functions(const char *program, const struct option_command *commands)
{
    printf("function __%s_is\n"
           "    set -l words (commandline -opc)[2..]\n"
           "    set -l command\n"
           "    if set -q words[1]; and contains -- $words[1] ",
           program);
    option_print_commands(commands, NULL);
    printf("\n        set command $words[1]\n"
           "    end\n");
    for (const struct option_command *command = commands; !option_command_is_last(command);
         command++)
        if (command->table == NULL)
            printf("    if test \"$command\" = %s\n"
                   "        set command (string join ' ' $words[1..2])\n"
                   "    end\n",
                   command->name);
    printf("    test \"$command\" = \"$argv\"\n"
           "end\n\n");
}

void option_complete_fish(const char *program, const struct option_command *commands)
{
    printf("# Completion for %s " GASPIPE_VERSION ", printed by `%s --completion fish`\n\n",
           program, program);
    fish_print_functions(program, commands);
    fish_print_names(program, commands, NULL);
    for (const struct option_command *command = commands; !option_command_is_last(command);
         command++) {
        if (command->table == NULL)
            fish_print_names(program, commands, command->name);
        else
            fish_print_command(program, command);
    }
    printf("complete -c %s -l help -d 'print the options and exit'\n"
           "complete -c %s -l version -d 'print the version and exit'\n",
           program, program);
    fish_print_start(program, "");
    printf(" -l completion -x -a 'bash zsh fish' -d 'print a completion script'\n");
}
