/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option/option_complete.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "base/option/option_file.h"

enum value_kind {
    VALUE_NONE, /* a flag */
    VALUE_WORDS,
    VALUE_DIRECTORY, /* the metavariable is DIR */
    VALUE_FILE,      /* it contains FILE, PATH or DIR */
    VALUE_PAIR,      /* NAME=FILE */
    VALUE_TEXT,      /* not completed */
};

static enum value_kind value_kind_of(const struct option_row *row)
{
    if (row->kind == OPTION_FLAG)
        return VALUE_NONE;
    if (row->words != NULL)
        return VALUE_WORDS;
    if (!option_takes_path(row))
        return VALUE_TEXT;
    if (strcmp(row->metavariable, "DIR") == 0)
        return VALUE_DIRECTORY;
    return strcmp(row->metavariable, "NAME=FILE") == 0 ? VALUE_PAIR : VALUE_FILE;
}

static bool repeats(const struct option_row *row)
{
    return row->kind == OPTION_LIST || row->kind == OPTION_PAIRS || row->kind == OPTION_OTHER;
}

static size_t summary_length(const struct option_row *row)
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

static bool is_last_command(const struct option_command *command)
{
    return command->name == NULL && command->table == NULL;
}

static bool begins_with(const char *name, const char *word)
{
    return strncmp(name, word, strlen(word)) == 0 && name[strlen(word)] == ' ';
}

/* Returns true if the previous command has the same first word. */
static bool repeats_first_word(const struct option_command *commands,
                               const struct option_command *command)
{
    const size_t length = strcspn(command->name, " ");

    return command > commands && command[-1].name != NULL &&
           strcspn(command[-1].name, " ") == length &&
           strncmp(command[-1].name, command->name, length) == 0;
}

static size_t print_command_words(const struct option_command *commands, const char *first)
{
    size_t count = 0;

    for (const struct option_command *command = commands; !is_last_command(command); command++) {
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

/* ---- bash ---- */

/*
 * bash splits words at '=': the value of --option=VALUE is the second word after the option, and
 * the file of --option NAME=FILE the third.
 */
static const char bash_body[] =
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
    print_command_words(commands, NULL);
    printf("'; }\n\n_%s_subcommands()\n{\n    case $1 in\n", program);
    for (const struct option_command *command = commands; !is_last_command(command); command++) {
        if (command->table != NULL)
            continue;
        printf("    '%s') echo '", command->name);
        if (print_command_words(commands, command->name) == 0)
            print_command_words(commands, NULL);
        printf("' ;;\n");
    }
    printf("    esac\n}\n\n");
}

static void bash_print_options(const char *program, const struct option_command *commands)
{
    bool nameless = false;

    printf("# COMMAND: its options\n_%s_options()\n{\n    case $1 in\n", program);
    for (const struct option_command *command = commands; !is_last_command(command); command++) {
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
        [VALUE_DIRECTORY] = "directory",
        [VALUE_FILE] = "file",
        [VALUE_PAIR] = "file",
        [VALUE_TEXT] = "none",
    };

    if (row->words == NULL) {
        printf("%s", kinds[value_kind_of(row)]);
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
    for (const struct option_command *command = commands; !is_last_command(command); command++) {
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
    for (const struct option_command *command = commands; !is_last_command(command); command++) {
        if (command->table == NULL)
            printf("    '%s '*) echo none ;;\n", command->name);
        else if (command->table->ends_at_operand)
            printf("    '%s') echo program ;;\n", bash_name_of(command));
    }
    printf("    *) echo file ;;\n    esac\n}\n\n");
}

static void bash_print(const char *program, const struct option_command *commands)
{
    bool takes_files = false;

    for (const struct option_command *command = commands; !is_last_command(command); command++)
        takes_files |= command->name == NULL;
    printf("# Completion for %s " GASPIPE_VERSION ", printed by `%s --completion bash`\n\n",
           program, program);
    bash_print_names(program, commands);
    bash_print_options(program, commands);
    bash_print_values(program, commands);
    bash_print_operands(program, commands);
    printf(bash_body, program, takes_files ? "both" : "words");
}

/* ---- zsh ---- */

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
    switch (value_kind_of(row)) {
    case VALUE_WORDS:
        printf(":(");
        for (size_t i = 0; row->words[i] != NULL; i++)
            printf("%s%s", i == 0 ? "" : " ", row->words[i]);
        printf(")");
        break;
    case VALUE_DIRECTORY:
        printf(":_files -/");
        break;
    case VALUE_FILE:
        printf(":_files");
        break;
    case VALUE_PAIR:
        printf(":{ compset -P \"*=\"; _files }");
        break;
    case VALUE_NONE:
    case VALUE_TEXT:
        printf(": ");
        break;
    }
}

/* "*--name=[summary]:VALUE:action", a specification of _arguments. */
static void zsh_print_row(const struct option_row *row, const char *name)
{
    const bool has_value = row->kind != OPTION_FLAG;

    printf(" \\\n            '%s%s%s[", repeats(row) ? "*" : "", name,
           !has_value       ? ""
           : name[1] == '-' ? "="
                            : "+");
    zsh_print_quoted(row->help, summary_length(row), "[]\\");
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

    for (const struct option_command *command = commands; !is_last_command(command); command++)
        nameless |= command->name == NULL;
    printf("    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n        compadd -- ");
    print_command_words(commands, NULL);
    printf("%s\n    fi\n", nameless ? "\n        _files" : "");
    if (!nameless)
        printf("    if (( CURRENT == 2 )); then\n"
               "        compadd -- --help --version --completion\n    fi\n");
    printf("    (( CURRENT > 2 )) && [[ \" ");
    print_command_words(commands, NULL);
    printf(" \" == *\" $words[2] \"* ]] && command=$words[2] && shift words && (( CURRENT-- ))\n"
           "    case $command in\n");
    for (const struct option_command *command = commands; !is_last_command(command); command++) {
        if (command->table != NULL)
            continue;
        printf("    ('%s')\n        if (( CURRENT == 2 )); then\n            compadd -- ",
               command->name);
        if (print_command_words(commands, command->name) == 0)
            print_command_words(commands, NULL);
        printf("\n            return\n        fi\n        command+=\" $words[2]\"\n"
               "        shift words\n        (( CURRENT-- ))\n        ;;\n");
    }
    printf("    esac\n");
}

static void zsh_print(const char *program, const struct option_command *commands)
{
    printf("#compdef %s\n"
           "# Completion for %s " GASPIPE_VERSION ", printed by `%s --completion zsh`\n\n"
           "_%s()\n{\n    local command=\n\n",
           program, program, program, program);
    zsh_print_choice(commands);
    printf("    case $command in\n");
    for (const struct option_command *command = commands; !is_last_command(command); command++)
        if (command->table != NULL)
            zsh_print_command(command);
    printf("    esac\n}\n\n"
           "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n    _%s \"$@\"\n"
           "else\n    compdef _%s %s\nfi\n",
           program, program, program);
}

/* ---- fish ---- */

/* Within single quotes. */
static void fish_print_quoted(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        printf("%s%c", text[i] == '\'' || text[i] == '\\' ? "\\" : "", text[i]);
}

static void fish_print_value(const struct option_row *row)
{
    switch (value_kind_of(row)) {
    case VALUE_NONE:
        break;
    case VALUE_WORDS:
        printf(" -x -a '");
        for (size_t i = 0; row->words[i] != NULL; i++)
            printf("%s%s", i == 0 ? "" : " ", row->words[i]);
        printf("'");
        break;
    case VALUE_DIRECTORY:
        printf(" -x -a '(__fish_complete_directories)'");
        break;
    case VALUE_FILE:
    case VALUE_PAIR:
        printf(" -r -F");
        break;
    case VALUE_TEXT:
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
        fish_print_quoted(row->help, summary_length(row));
        printf("'\n");
    }
}

/* Names of commands, after `first` or as the first word. */
static void fish_print_names(const char *program, const struct option_command *commands,
                             const char *first)
{
    fish_print_start(program, first != NULL ? first : "");
    printf("%s -a '", first == NULL && commands[0].name == NULL ? "" : " -f");
    if (print_command_words(commands, first) == 0)
        print_command_words(commands, NULL);
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
    print_command_words(commands, NULL);
    printf("\n        set command $words[1]\n"
           "    end\n");
    for (const struct option_command *command = commands; !is_last_command(command); command++)
        if (command->table == NULL)
            printf("    if test \"$command\" = %s\n"
                   "        set command (string join ' ' $words[1..2])\n"
                   "    end\n",
                   command->name);
    printf("    test \"$command\" = \"$argv\"\n"
           "end\n\n");
}

static void fish_print(const char *program, const struct option_command *commands)
{
    printf("# Completion for %s " GASPIPE_VERSION ", printed by `%s --completion fish`\n\n",
           program, program);
    fish_print_functions(program, commands);
    fish_print_names(program, commands, NULL);
    for (const struct option_command *command = commands; !is_last_command(command); command++) {
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

int option_complete_command(const char *program, const struct option_command *commands, int argc,
                            char **argv)
{
    static const struct {
        const char *name;
        void (*print)(const char *program, const struct option_command *commands);
    } shells[] = {{"bash", bash_print}, {"zsh", zsh_print}, {"fish", fish_print}};
    struct error error;

    if (argc < 2 || strcmp(argv[1], "--completion") != 0)
        return -1;
    for (size_t i = 0; argc == 3 && i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(argv[2], shells[i].name) != 0)
            continue;
        shells[i].print(program, commands);
        if (fflush(stdout) == 0 && !ferror(stdout))
            return 0;
        io_fail_stdout("cannot write to standard output", &error);
        log_line("%s", error.text);
        return ERROR_SYSTEM;
    }
    log_line("--completion needs the name of a shell: bash, zsh or fish");
    return ERROR_USAGE;
}
