/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option/option.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/number.h"

/* A longer word is not a typo of a name. */
enum { LENGTH_MAX = 63 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * Restricted Damerau-Levenshtein distance. rows[i % 3][j] is that of the first i letters of `from`
 * and the first j of `to`. Neither is longer than LENGTH_MAX.
 */
static size_t edit_distance(const char *from, const char *to)
{
    const size_t from_length = strlen(from), to_length = strlen(to);
    size_t rows[3][LENGTH_MAX + 1];

    for (size_t j = 0; j <= to_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= from_length; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= to_length; j++) {
            row[j] =
                least(least(above[j], row[j - 1]) + 1, above[j - 1] + (from[i - 1] != to[j - 1]));
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
                row[j] = least(row[j], second[j - 2] + 1);
        }
    }
    return rows[from_length % 3][to_length];
}

void similar_try(struct similar *similar, const char *name)
{
    const size_t length = strlen(similar->word), limit = (length + 2) / 3;
    size_t found;

    if (length == 0 || length > LENGTH_MAX || strlen(name) > LENGTH_MAX)
        return;
    found = strncmp(name, similar->word, length) == 0 ? 1 : edit_distance(similar->word, name);
    if (found > limit || (similar->best[0] != '\0' && found >= similar->distance))
        return;
    memcpy(similar->best, name, strlen(name) + 1);
    similar->distance = found;
}

const char *similar_hint(struct similar *similar, const char *before)
{
    similar->hint[0] = '\0';
    if (similar->best[0] != '\0')
        snprintf(similar->hint, sizeof similar->hint, "; did you mean %s%s?", before,
                 similar->best);
    return similar->hint;
}

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

/* The codes that getopt_long() returns; letters are below, rows from ROWS on. */
enum { HELP = 256, VERSION, ROWS };

int option_list_add(struct option_list *list, char *item, struct error *error)
{
    char **items = reallocarray(list->items, list->count + 1, sizeof *items);

    if (items == NULL)
        return error_memory(error, "the command line");
    list->items = items;
    items[list->count++] = item;
    return 0;
}

void option_list_free(struct option_list *list)
{
    free(list->items);
    *list = (struct option_list){0};
}

static int take_pair(struct option_list *list, const struct option_row *row, const char *option,
                     char *value, struct error *error)
{
    const char *equals = strchr(value, '=');

    if (equals == NULL || equals == value)
        return error_set(error, ERROR_USAGE, "%s needs %s, not '%s'", option, row->metavariable,
                         value);
    return option_list_add(list, value, error);
}

/* "a, b or c" */
static const char *list_words(const char *const *words, struct buf *list)
{
    for (size_t i = 0; words[i] != NULL; i++)
        buf_printf(list, "%s%s", i == 0 ? "" : words[i + 1] != NULL ? ", " : " or ", words[i]);
    return buf_string(list);
}

static int take_choice(int *choice, const struct option_row *row, const char *option,
                       const char *value, struct error *error)
{
    struct similar similar = {.word = value};
    struct buf list = {0};
    const char *words;

    for (int i = 0; row->words[i] != NULL; i++) {
        if (strcmp(value, row->words[i]) == 0) {
            *choice = i;
            return 0;
        }
        similar_try(&similar, row->words[i]);
    }
    words = list_words(row->words, &list);
    error_set(error, ERROR_USAGE, "%s is %s, not '%s'%s", option, words == NULL ? "" : words, value,
              similar_hint(&similar, ""));
    buf_free(&list);
    return -1;
}

/* `option` is the name with "--", `value` NULL for a flag. */
static int store_option_value(const struct option_row *row, const char *option, char *value,
                              void *options, struct error *error)
{
    void *place = (char *)options + row->place;

    switch (row->kind) {
    case OPTION_HEADING:
        break;
    case OPTION_FLAG:
        *(bool *)place = true;
        break;
    case OPTION_TEXT:
        *(const char **)place = value;
        break;
    case OPTION_LIST:
        return option_list_add(place, value, error);
    case OPTION_PAIRS:
        return take_pair(place, row, option, value, error);
    case OPTION_NUMBER:
        return number_option(option, value, row->min, row->max, place, error);
    case OPTION_BYTES:
        return number_option_bytes(option, value, place, error);
    case OPTION_SECONDS:
        return number_option_seconds(option, value, row->max, place, error);
    case OPTION_CHOICE:
        return take_choice(place, row, option, value, error);
    case OPTION_OTHER:
        return row->take(place, option, value, error);
    }
    return 0;
}

/* Says which commands have the row. */
static int refuse_other_row(const struct option_table *table, const struct option_row *row,
                            const char *option, struct error *error)
{
    struct buf titles = {0};
    unsigned left = row->commands;

    for (size_t i = 0; i < table->command_count; i++) {
        const struct option_table *other = &table->commands[i];

        if ((left & other->command_bit) == 0)
            continue;
        left &= ~other->command_bit;
        if (titles.length > 0)
            buf_append_string(&titles, left == 0 ? " and " : ", ");
        buf_append_string(&titles, other->command_title);
    }
    error_set(error, ERROR_USAGE, "%s goes only with %s", option, buf_string(&titles));
    buf_free(&titles);
    return -1;
}

static int parse_row_value(const struct option_table *table, const struct option_row *row,
                           char *value, void *options, struct error *error)
{
    char option[64];

    snprintf(option, sizeof option, "--%s", row->name);
    if (row->commands != 0 && table->command_bit != 0 && (row->commands & table->command_bit) == 0)
        return refuse_other_row(table, row, option, error);
    if (store_option_value(row, option, value, options, error) != 0)
        return -1;
    if (row->given != 0)
        *(bool *)((char *)options + row->given) = true;
    return 0;
}

/* The arguments of getopt_long(): long names, ended by an empty one, and letters. */
struct known {
    struct option *names;
    struct buf letters;
};

static int make_known(struct known *known, const struct option_table *table, struct error *error)
{
    struct option *name;

    *known = (struct known){.names = calloc(table->row_count + 3, sizeof *known->names)};
    if ((name = known->names) == NULL)
        return error_memory(error, "the command line");
    buf_printf(&known->letters, "%s:h", table->ends_at_operand ? "+" : "");
    *name++ = (struct option){"help", no_argument, NULL, HELP};
    *name++ = (struct option){"version", no_argument, NULL, VERSION};
    for (size_t i = 0; i < table->row_count; i++) {
        const struct option_row *row = &table->rows[i];
        bool has_value = row->kind != OPTION_FLAG;

        if (row->kind == OPTION_HEADING)
            continue;
        *name++ = (struct option){row->name, has_value ? required_argument : no_argument, NULL,
                                  ROWS + (int)i};
        if (row->letter != '\0')
            buf_printf(&known->letters, "%c%s", row->letter, has_value ? ":" : "");
    }
    return buf_string(&known->letters) == NULL ? error_memory(error, "the command line") : 0;
}

static const struct option_row *find_letter(const struct option_table *table, int letter)
{
    const struct option_row *row = table->rows;

    while (row->letter != letter)
        row++;
    return row;
}

static int complain_unknown(const struct known *known, const char *argument, struct error *error)
{
    char word[64];
    struct similar similar = {.word = word};

    snprintf(word, sizeof word, "%.*s", (int)strcspn(argument, "="), argument);
    if (strncmp(word, "--", 2) != 0)
        return error_set(error, ERROR_USAGE, "unknown option %s", argument);
    similar.word += 2;
    for (const struct option *name = known->names; name->name != NULL; name++)
        similar_try(&similar, name->name);
    return error_set(error, ERROR_USAGE, "unknown option %s%s", argument,
                     similar_hint(&similar, "--"));
}

/* For getopt_long()'s ':' and '?'. */
static int report_option_problem(const struct known *known, int complaint, const char *argument,
                                 struct error *error)
{
    if (complaint == ':')
        return error_set(error, ERROR_USAGE, "%s needs a value", argument);
    if (optopt >= HELP) /* the option is known, so the error is its '=' */
        return error_set(error, ERROR_USAGE, "%.*s takes no value", (int)strcspn(argument, "="),
                         argument);
    return complain_unknown(known, argument, error);
}

/* *shown: HELP or VERSION when one was given, or 0. */
static int parse_all_options(const struct option_table *table, struct known *known, int argc,
                             char **argv, void *options, int *shown, struct error *error)
{
    int option;

    opterr = 0;
    optind = 0; /* restart getopt_long() */
    while ((option = getopt_long(argc, argv, buf_string(&known->letters), known->names, NULL)) !=
           -1) {
        if (option == ':' || option == '?')
            return report_option_problem(known, option, argv[optind - 1], error);
        if (option == 'h' || option == HELP || option == VERSION) {
            *shown = option == VERSION ? VERSION : HELP;
            continue;
        }
        if (parse_row_value(
                table, option >= ROWS ? &table->rows[option - ROWS] : find_letter(table, option),
                optarg, options, error) != 0)
            return -1;
    }
    return 0;
}

int option_print(const char *text, struct error *error)
{
    if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
        return 0;
    return io_fail_stdout("cannot write to standard output", error);
}

static enum option_result print_help_or_version(const struct option_table *table, int shown,
                                                struct error *error)
{
    char version[64];

    if (shown == HELP) {
        if (option_help(table) == 0)
            return OPTION_SHOWN;
        io_fail_stdout("cannot write to standard output", error);
        return OPTION_FAILED;
    }
    snprintf(version, sizeof version, "%s " GASPIPE_VERSION "\n", table->program);
    return option_print(version, error) == 0 ? OPTION_SHOWN : OPTION_FAILED;
}

enum option_result option_parse(const struct option_table *table, int argc, char **argv,
                                void *options, char ***operands, struct error *error)
{
    struct known known;
    int shown = 0;
    int result = make_known(&known, table, error);

    if (result == 0)
        result = parse_all_options(table, &known, argc, argv, options, &shown, error);
    free(known.names);
    buf_free(&known.letters);
    if (result != 0)
        return OPTION_FAILED;
    *operands = argv + optind;
    return shown != 0 ? print_help_or_version(table, shown, error) : OPTION_TAKEN;
}

int option_end(const struct option_table *table, enum option_result result,
               const struct error *error)
{
    const char *command = table->command, *program = table->program;

    if (result != OPTION_FAILED)
        return 0;
    if (error->kind != ERROR_USAGE)
        log_line("%s", error->text);
    else if (command == NULL)
        log_line("%s (see %s --help)", error->text, program);
    else
        log_line("%s: %s (see %s %s --help)", command, error->text, program, command);
    return (int)error->kind;
}
