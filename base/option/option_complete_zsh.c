/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/option/option_complete.h"

/* Within single quotes, with a backslash before each of `special`. */
static void zsh_print_quoted(const char *text, size_t length, const char *special)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'')
            printf("'\\''");
        else
            printf("%s%c", strchr(special, text[i]) != NULL ? "\\" : "", text[i]);
    }
}

static void zsh_print_action(const struct option_row *row)
{
    switch (option_value_kind(row)) {
    case OPTION_VALUE_WORDS:
        printf(":(");
        for (size_t i = 0; row->words[i] != NULL; i++)
            printf("%s%s", i == 0 ? "" : " ", row->words[i]);
        printf(")");
        break;
    case OPTION_VALUE_DIRECTORY:
        printf(":_files -/");
        break;
    case OPTION_VALUE_FILE:
        printf(":_files");
        break;
    case OPTION_VALUE_PAIR:
        printf(":{ compset -P \"*=\"; _files }");
        break;
    case OPTION_VALUE_NONE:
    case OPTION_VALUE_TEXT:
        printf(": ");
        break;
    }
}

/* "*--name=[summary]:VALUE:action", a specification of _arguments. */
static void zsh_print_row(const struct option_row *row, const char *name)
{
    const bool has_value = row->kind != OPTION_FLAG;

    printf(" \\\n            '%s%s%s[", option_repeats(row) ? "*" : "", name,
           !has_value       ? ""
           : name[1] == '-' ? "="
                            : "+");
    zsh_print_quoted(row->help, option_summary(row), "[]\\");
    printf("]");
    if (has_value) {
        const char *value = row->metavariable != NULL ? row->metavariable : "value";

        printf(":");
        zsh_print_quoted(value, strlen(value), ":\\");
        zsh_print_action(row);
    }
    printf("'");
}

static void zsh_print_command(const struct option_command *command)
{
    const struct option_table *table = command->table;
    char name[64];

    printf("    ('%s')\n        _arguments -S :", command->name != NULL ? command->name : "");
    for (size_t i = 0; i < table->row_count; i++) {
        const struct option_row *row = &table->rows[i];

        if (row->kind == OPTION_HEADING || !option_row_is_shown(table, row))
            continue;
        snprintf(name, sizeof name, "--%s", row->name);
        zsh_print_row(row, name);
        snprintf(name, sizeof name, "-%c", row->letter);
        if (row->letter != '\0')
            zsh_print_row(row, name);
    }
    printf(" \\\n            '--help[print the options and exit]'"
           " \\\n            '--version[print the version and exit]'");
    if (command->name == NULL)
        printf(" \\\n            '--completion=[print a completion script]:shell:(bash zsh fish)'");
    if (table->ends_at_operand)
        printf(" \\\n            '(-)1:program: _command_names -e'"
               " \\\n            '*::arguments: _normal'");
    else
        printf(" \\\n            '*:file:_files'");
    printf("\n        ;;\n");
}

/* A command of one word, or the nameless one, is chosen by words[2]; one of two by words[3] too. */
static void zsh_print_choice(const struct option_command *commands)
{
    bool nameless = false;

    for (const struct option_command *command = commands; !option_command_is_last(command);
         command++)
        nameless |= command->name == NULL;
    printf("    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n        compadd -- ");
    option_print_commands(commands, NULL);
    printf("%s\n    fi\n", nameless ? "\n        _files" : "");
    if (!nameless)
        printf("    if (( CURRENT == 2 )); then\n"
               "        compadd -- --help --version --completion\n    fi\n");
    printf("    (( CURRENT > 2 )) && [[ \" ");
    option_print_commands(commands, NULL);
    printf(" \" == *\" $words[2] \"* ]] && command=$words[2] && shift words && (( CURRENT-- ))\n"
           "    case $command in\n");
    for (const struct option_command *command = commands; !option_command_is_last(command);
         command++) {
        if (command->table != NULL)
            continue;
        printf("    ('%s')\n        if (( CURRENT == 2 )); then\n            compadd -- ",
               command->name);
        if (option_print_commands(commands, command->name) == 0)
            option_print_commands(commands, NULL);
        printf("\n            return\n        fi\n        command+=\" $words[2]\"\n"
               "        shift words\n        (( CURRENT-- ))\n        ;;\n");
    }
    printf("    esac\n");
}

void option_complete_zsh(const char *program, const struct option_command *commands)
{
    printf("#compdef %s\n"
           "# Completion for %s " GASPIPE_VERSION ", printed by `%s --completion zsh`\n\n"
           "_%s()\n{\n    local command=\n\n",
           program, program, program, program);
    zsh_print_choice(commands);
    printf("    case $command in\n");
    for (const struct option_command *command = commands; !option_command_is_last(command);
         command++)
        if (command->table != NULL)
            zsh_print_command(command);
    printf("    esac\n}\n\n"
           "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n    _%s \"$@\"\n"
           "else\n    compdef _%s %s\nfi\n",
           program, program, program);
}
