/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/option/option.h"

enum {
    WIDTH = 80,
    HELP_COLUMN = 28,
};

/*
 * Prints words from `column` on, and breaks lines so that they end before WIDTH and begin at
 * `indent`. Line breaks in the text stay.
 */
static void print_wrapped(const char *text, size_t column, size_t indent)
{
    bool fresh = true;

    while (*text != '\0') {
        size_t blanks = strspn(text, " ");
        size_t word = strcspn(text + blanks, " \n");

        if (!fresh && column + blanks + word > WIDTH) {
            printf("\n%*s", (int)indent, "");
            column = indent;
            blanks = strspn(text, " ");
            text += blanks;
            blanks = 0;
        }
        printf("%.*s", (int)(blanks + word), text);
        column += blanks + word;
        text += blanks + word;
        fresh = false;
        if (*text == '\n') {
            putchar(*text++);
            column = 0;
            fresh = true;
        }
    }
}

static size_t print_value(const struct option_row *row)
{
    size_t width = 0;

    if (row->kind == OPTION_FLAG)
        return 0;
    if (row->metavariable != NULL)
        return (size_t)printf(" %s", row->metavariable);
    for (size_t i = 0; row->words[i] != NULL; i++)
        width += (size_t)printf("%c%s", i == 0 ? ' ' : '|', row->words[i]);
    return width;
}

static void print_row(const struct option_row *row)
{
    size_t width;

    if (row->kind == OPTION_HEADING) {
        printf("\n%s:\n", row->name);
        return;
    }
    if (row->letter != '\0')
        width = (size_t)printf("  -%c, --%s", row->letter, row->name);
    else
        width = (size_t)printf("  --%s", row->name);
    width += print_value(row);
    if (width + 2 > HELP_COLUMN) {
        putchar('\n');
        width = 0;
    }
    printf("%*s", (int)(HELP_COLUMN - width), "");
    print_wrapped(row->help, HELP_COLUMN, HELP_COLUMN);
    putchar('\n');
}

static bool is_of_command(const struct option_table *table, const struct option_row *row)
{
    return row->help != NULL && (row->commands == 0 || table->command_bit == 0 ||
                                 (row->commands & table->command_bit) != 0);
}

bool option_row_is_shown(const struct option_table *table, const struct option_row *row)
{
    const struct option_row *const end = table->rows + table->row_count;

    if (row->kind != OPTION_HEADING)
        return is_of_command(table, row);
    do
        row++;
    while (row < end && row->kind != OPTION_HEADING && !is_of_command(table, row));
    return row < end && row->kind != OPTION_HEADING;
}

int option_help(const struct option_table *table)
{
    static const struct option_row common[] = {
        {"help", .help = "print this and exit", .kind = OPTION_FLAG},
        {"version", .help = "print the version and exit", .kind = OPTION_FLAG},
    };

    const bool grouped = table->row_count > 0 && table->rows[0].kind == OPTION_HEADING;

    print_wrapped(table->usage, 0, 0);
    if (!grouped)
        putchar('\n');
    for (size_t i = 0; i < table->row_count; i++)
        if (option_row_is_shown(table, &table->rows[i]))
            print_row(&table->rows[i]);
    if (grouped)
        puts("\nHelp:");
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        print_row(&common[i]);
    putchar('\n');
    print_wrapped(table->ending, 0, 0);
    putchar('\n');
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : -1;
}
