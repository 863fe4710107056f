/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/option/option_complete.h"

/*
 * bash splits words at '=': the value of --option=VALUE is the second word after the option, and
 * the file of --option NAME=FILE the third.
 */
static const char body[] =
    "_%1$s()\n"
    "{\n"
    "    local at=$COMP_CWORD current=${COMP_WORDS[COMP_CWORD]} command= option kind words i\n"
    "\n"
    "    COMPREPLY=()\n"
    "    [[ \" $(_%1$s_commands) \" != *\" ${COMP_WORDS[1]} \"* ]] || [ \"$at\" -eq 1 ] ||\n"
    "        command=${COMP_WORDS[1]}\n"
    "    words=$(_%1$s_subcommands \"$command\")\n"
    "    if [[ -n $words && $at -eq 2 ]]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
    "        return\n"
    "    fi\n"
    "    [[ -z $words ]] || command+=\" ${COMP_WORDS[2]}\"\n"
    "    if [[ $current == = ]]; then\n"
    "        current=\n"
    "        at=$((at + 1))\n"
    "    fi\n"
    "    option=${COMP_WORDS[at - 1]}\n"
    "    [[ $option != = ]] || option=${COMP_WORDS[at - 2]}\n"
    "    [[ $option == -* || $at -lt 4 || ${COMP_WORDS[at - 1]} != = ]] ||\n"
    "        option=${COMP_WORDS[at - 3]}\n"
    "    read -r kind words <<< \"$(_%1$s_value \"$command\" \"$option\")\"\n"
    "    if [[ -z $kind && $current == -* ]]; then\n"
    "        kind=words words=$(_%1$s_options \"$command\")\n"
    "    elif [[ -z $kind && $at -eq 1 ]]; then\n"
    "        kind=%2$s words=$(_%1$s_commands)\n"
    "    elif [[ -z $kind ]]; then\n"
    "        kind=$(_%1$s_operand \"$command\")\n"
    "        # Options after a program to be run are the program's own.\n"
    "        for ((i = 2; i < at; i++)); do\n"
    "            [[ $kind != program || ${COMP_WORDS[i]} != -- || $i -ge $((at - 1)) ]] || "
    "kind=file\n"
    "        done\n"
    "    fi\n"
    "    case $kind in\n"
    "    words | both) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\") ;;&\n"
    "    file | both)\n"
    "        compopt -o filenames 2> /dev/null\n"
    "        mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"$current\")\n"
    "        ;;\n"
    "    directory)\n"
    "        compopt -o filenames 2> /dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -d -- \"$current\")\n"
    "        ;;\n"
    "    program) mapfile -t COMPREPLY < <(compgen -c -- \"$current\") ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _%1$s %1$s\n";

static const char *bash_name_of(const struct option_command *command)
{
    return command->name != NULL ? command->name : "";
}

static void bash_print_names(const char *program, const struct option_command *commands)
{
    printf("_%s_commands() { echo '", program);
    option_print_commands(commands, NULL);
    printf("'; }\n\n_%s_subcommands()\n{\n    case $1 in\n", program);
    for (const struct option_command *command = commands; !option_command_is_last(command);
         command++) {
        if (command->table != NULL)
            continue;
        printf("    '%s') echo '", command->name);
        if (option_print_commands(commands, command->name) == 0)
            option_print_commands(commands, NULL);
        printf("' ;;\n");
    }
    printf("    esac\n}\n\n");
}

static void bash_print_options(const char *program, const struct option_command *commands)
{
    bool nameless = false;

    printf("# COMMAND: its options\n_%s_options()\n{\n    case $1 in\n", program);
    for (const struct option_command *command = commands; !option_command_is_last(command);
         command++) {
        if (command->table == NULL)
            continue;
        nameless |= command->name == NULL;
        printf("    '%s') echo '", bash_name_of(command));
        for (size_t i = 0; i < command->table->row_count; i++)
            if (command->table->rows[i].kind != OPTION_HEADING &&
                option_row_is_shown(command->table, &command->table->rows[i]))
                printf("--%s ", command->table->rows[i].name);
        printf("--help --version%s' ;;\n", command->name == NULL ? " --completion" : "");
    }
    if (!nameless)
        printf("    '') echo '--help --version --completion' ;;\n");
    printf("    esac\n}\n\n");
}

static void bash_print_kind(const struct option_row *row)
{
    static const char *const kinds[] = {
        [OPTION_VALUE_DIRECTORY] = "directory",
        [OPTION_VALUE_FILE] = "file",
        [OPTION_VALUE_PAIR] = "file",
        [OPTION_VALUE_TEXT] = "none",
    };

    if (row->words == NULL) {
        printf("%s", kinds[option_value_kind(row)]);
        return;
    }
    printf("words");
    for (size_t i = 0; row->words[i] != NULL; i++)
        printf(" %s", row->words[i]);
}

static void bash_print_values(const char *program, const struct option_command *commands)
{
    printf("# COMMAND OPTION: the kind of its value, nothing if it has none\n"
           "_%s_value()\n{\n    case \"$1 $2\" in\n",
           program);
    for (const struct option_command *command = commands; !option_command_is_last(command);
         command++) {
        for (size_t i = 0; command->table != NULL && i < command->table->row_count; i++) {
            const struct option_row *row = &command->table->rows[i];

            if (row->kind == OPTION_HEADING || row->kind == OPTION_FLAG ||
                !option_row_is_shown(command->table, row))
                continue;
            printf("    '%s --%s'", bash_name_of(command), row->name);
            if (row->letter != '\0')
                printf(" | '%s -%c'", bash_name_of(command), row->letter);
            printf(") echo '");
            bash_print_kind(row);
            printf("' ;;\n");
        }
    }
    printf("    ' --completion') echo 'words bash zsh fish' ;;\n    esac\n}\n\n");
}

static void bash_print_operands(const char *program, const struct option_command *commands)
{
    printf("_%s_operand()\n{\n    case $1 in\n", program);
    for (const struct option_command *command = commands; !option_command_is_last(command);
         command++) {
        if (command->table == NULL)
            printf("    '%s '*) echo none ;;\n", command->name);
        else if (command->table->ends_at_operand)
            printf("    '%s') echo program ;;\n", bash_name_of(command));
    }
    printf("    *) echo file ;;\n    esac\n}\n\n");
}

void option_complete_bash(const char *program, const struct option_command *commands)
{
    bool takes_files = false;

    for (const struct option_command *command = commands; !option_command_is_last(command);
         command++)
        takes_files |= command->name == NULL;
    printf("# Completion for %s " GASPIPE_VERSION ", printed by `%s --completion bash`\n\n",
           program, program);
    bash_print_names(program, commands);
    bash_print_options(program, commands);
    bash_print_values(program, commands);
    bash_print_operands(program, commands);
    printf(body, program, takes_files ? "both" : "words");
}
