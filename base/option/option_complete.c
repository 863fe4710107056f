/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option/option_complete.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/option/option_file.h"

/*
 * bash makes a word of each '=', so that the value of --option=VALUE, and the file of
 * --option NAME=FILE, are two and three words behind the option.
 */
static const char body[] =
    "_%1$s()\n"
    "{\n"
    "    local at=$COMP_CWORD current=${COMP_WORDS[COMP_CWORD]} command= option kind words i\n"
    "\n"
    "    COMPREPLY=()\n"
    "    [[ \" $(_%1$s_commands) \" != *\" ${COMP_WORDS[1]} \"* ]] || [ \"$at\" -eq 1 ] ||\n"
    "        command=${COMP_WORDS[1]}\n"
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
    "        [[ $kind != words ]] || words=$(_%1$s_commands)\n"
    "        # What follows a program to be run is the program's own.\n"
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
    "    folder)\n"
    "        compopt -o filenames 2> /dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -d -- \"$current\")\n"
    "        ;;\n"
    "    program) mapfile -t COMPREPLY < <(compgen -c -- \"$current\") ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _%1$s %1$s\n";

static bool applies(const struct option_row *row, const struct option_command *command)
{
    return row->kind != OPTION_HEADING && row->help != NULL &&
           (row->commands == 0 || command->bit == 0 || (row->commands & command->bit) != 0);
}

static const char *name_of(const struct option_command *command)
{
    return command->name != NULL ? command->name : "";
}

static bool is_last(const struct option_command *command)
{
    return command->name == NULL && command->table == NULL;
}

static void print_commands(const char *program, const struct option_command *commands)
{
    printf("_%s_commands() { echo '", program);
    for (const struct option_command *command = commands; !is_last(command); command++)
        if (command->name != NULL)
            printf("%s ", command->name);
    printf("'; }\n\n");
}

static void print_options(const char *program, const struct option_command *commands)
{
    bool nameless = false;

    printf("# COMMAND: its options\n_%s_options()\n{\n    case $1 in\n", program);
    for (const struct option_command *command = commands; !is_last(command); command++) {
        if (command->table == NULL)
            continue;
        nameless |= command->name == NULL;
        printf("    '%s') echo '", name_of(command));
        for (size_t i = 0; i < command->table->row_count; i++)
            if (applies(&command->table->rows[i], command))
                printf("--%s ", command->table->rows[i].name);
        printf("--help --version%s' ;;\n", command->name == NULL ? " --completion" : "");
    }
    if (!nameless)
        printf("    '') echo '--help --version --completion' ;;\n");
    printf("    esac\n}\n\n");
}

/* "words a b", "file", "folder" or "none". */
static void print_kind(const struct option_row *row)
{
    if (row->words != NULL) {
        printf("words");
        for (size_t i = 0; row->words[i] != NULL; i++)
            printf(" %s", row->words[i]);
    } else if (!option_takes_path(row)) {
        printf("none");
    } else {
        printf(strcmp(row->metavariable, "DIR") == 0 ? "folder" : "file");
    }
}

static void print_values(const char *program, const struct option_command *commands)
{
    printf("# COMMAND OPTION: what its value is, nothing if it has none\n"
           "_%s_value()\n{\n    case \"$1 $2\" in\n",
           program);
    for (const struct option_command *command = commands; !is_last(command); command++) {
        for (size_t i = 0; command->table != NULL && i < command->table->row_count; i++) {
            const struct option_row *row = &command->table->rows[i];

            if (!applies(row, command) || row->kind == OPTION_FLAG)
                continue;
            printf("    '%s --%s'", name_of(command), row->name);
            if (row->letter != '\0')
                printf(" | '%s -%c'", name_of(command), row->letter);
            printf(") echo '");
            print_kind(row);
            printf("' ;;\n");
        }
    }
    printf("    ' --completion') echo 'words bash' ;;\n    esac\n}\n\n");
}

static void print_operands(const char *program, const struct option_command *commands)
{
    printf("_%s_operand()\n{\n    case $1 in\n", program);
    for (const struct option_command *command = commands; !is_last(command); command++) {
        if (command->table == NULL)
            printf("    '%s') echo words ;;\n", name_of(command));
        else if (command->table->ends_at_operand)
            printf("    '%s') echo program ;;\n", name_of(command));
    }
    printf("    *) echo file ;;\n    esac\n}\n\n");
}

int option_complete(const char *program, const struct option_command *commands)
{
    bool takes_files = false;

    for (const struct option_command *command = commands; !is_last(command); command++)
        takes_files |= command->name == NULL;
    printf("# Completion for %s " GASPIPE_VERSION ", printed by `%s --completion bash`\n\n",
           program, program);
    print_commands(program, commands);
    print_options(program, commands);
    print_values(program, commands);
    print_operands(program, commands);
    printf(body, program, takes_files ? "both" : "words");
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : -1;
}

int option_complete_command(const char *program, const struct option_command *commands, int argc,
                            char **argv)
{
    struct error error;

    if (argc < 2 || strcmp(argv[1], "--completion") != 0)
        return -1;
    if (argc != 3 || strcmp(argv[2], "bash") != 0) {
        log_line("--completion needs the name of a shell, which is bash");
        return ERROR_USAGE;
    }
    if (option_complete(program, commands) == 0)
        return 0;
    error_system(&error, errno, "cannot write to standard output");
    log_line("%s", error.text);
    return ERROR_SYSTEM;
}
