/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option/option_complete.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/option/option_file.h"

enum option_value_kind option_value_kind(const struct option_row *row)
{
    if (row->kind == OPTION_FLAG)
        return OPTION_VALUE_NONE;
    if (row->words != NULL)
        return OPTION_VALUE_WORDS;
    if (!option_takes_path(row))
        return OPTION_VALUE_TEXT;
    if (strcmp(row->metavariable, "DIR") == 0)
        return OPTION_VALUE_DIRECTORY;
    return strcmp(row->metavariable, "NAME=FILE") == 0 ? OPTION_VALUE_PAIR : OPTION_VALUE_FILE;
}

bool option_repeats(const struct option_row *row)
{
    return row->kind == OPTION_LIST || row->kind == OPTION_PAIRS || row->kind == OPTION_OTHER;
}

size_t option_summary(const struct option_row *row)
{
    static const char *const ends[] = {";", ": ", " (", ", 0:"};
    size_t length = strlen(row->help);

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *end = strstr(row->help, ends[i]);

        if (end != NULL && (size_t)(end - row->help) < length)
            length = (size_t)(end - row->help);
    }
    return length;
}

bool option_command_is_last(const struct option_command *command)
{
    return command->name == NULL && command->table == NULL;
}

static bool begins_with(const char *name, const char *word)
{
    return strncmp(name, word, strlen(word)) == 0 && name[strlen(word)] == ' ';
}

/* Whether the command before this one has the same first word. */
static bool repeats_first_word(const struct option_command *commands,
                               const struct option_command *command)
{
    const size_t length = strcspn(command->name, " ");

    return command > commands && command[-1].name != NULL &&
           strcspn(command[-1].name, " ") == length &&
           strncmp(command[-1].name, command->name, length) == 0;
}

size_t option_print_commands(const struct option_command *commands, const char *first)
{
    size_t count = 0;

    for (const struct option_command *command = commands; !option_command_is_last(command);
         command++) {
        const char *name = command->name;

        if (name == NULL || (first == NULL && repeats_first_word(commands, command)) ||
            (first != NULL && !begins_with(name, first)))
            continue;
        if (first != NULL)
            name += strlen(first) + 1;
        printf("%s%.*s", count++ == 0 ? "" : " ", (int)strcspn(name, " "), name);
    }
    return count;
}

int option_complete_command(const char *program, const struct option_command *commands, int argc,
                            char **argv)
{
    static const struct {
        const char *name;
        void (*print)(const char *program, const struct option_command *commands);
    } shells[] = {{"bash", option_complete_bash},
                  {"zsh", option_complete_zsh},
                  {"fish", option_complete_fish}};
    struct error error;

    if (argc < 2 || strcmp(argv[1], "--completion") != 0)
        return -1;
    for (size_t i = 0; argc == 3 && i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(argv[2], shells[i].name) != 0)
            continue;
        shells[i].print(program, commands);
        if (fflush(stdout) == 0 && !ferror(stdout))
            return 0;
        error_system(&error, errno, "cannot write to standard output");
        log_line("%s", error.text);
        return ERROR_SYSTEM;
    }
    log_line("--completion needs the name of a shell: bash, zsh or fish");
    return ERROR_USAGE;
}
