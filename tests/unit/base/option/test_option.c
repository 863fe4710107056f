/* SPDX-License-Identifier: Apache-2.0 */
#include "base/option/option.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum colour { RED, GREEN };

struct options {
    bool loud, number_given;
    const char *name;
    struct option_list files, variables;
    uint64_t number, wait_ms;
    int64_t bytes, place;
    enum colour colour;
    size_t length;
};

static const char *const colours[] = {[RED] = "red", [GREEN] = "green", NULL};

static int take_length(void *place, const char *option, char *value, struct error *error)
{
    if (*value == 'x')
        return error_set(error, ERROR_USAGE, "%s: no '%s'", option, value);
    *(size_t *)place = strlen(value);
    return 0;
}

enum { FIRST = 1, SECOND = 2 };

static const struct option_row rows[] = {
    {"What there is", .kind = OPTION_HEADING},
    {"loud", .help = "say more", .letter = 'l', OPTION_IS_FLAG(struct options, loud)},
    {"name", "NAME", "whose it is", .letter = 'n', OPTION_IS_TEXT(struct options, name)},
    {"file", "FILE", "read this", OPTION_IS_LIST(struct options, files)},
    {"env", "NAME=VALUE", "set it", OPTION_IS_PAIRS(struct options, variables)},
    {"number", "N",
     "how many of them there are, which takes more words than fit into one line of the text",
     OPTION_IS_NUMBER(struct options, number, 2, 9),
     .given = offsetof(struct options, number_given)},
    {"wait", "SECS", "how long", OPTION_IS_SECONDS(struct options, wait_ms, 10)},
    {"bytes", "SIZE", "how large", OPTION_IS_BYTES(struct options, bytes)},
    {"place", "N", "where", OPTION_IS_PLACE(struct options, place)},
    {"colour-of-the-whole", NULL, "which", OPTION_IS_CHOICE(struct options, colour, colours),
     .commands = FIRST},
    {"hidden", "TEXT", OPTION_IS_OTHER(struct options, length, take_length)},
};

static const struct option_table table = {
    .program = "program",
    .usage = "usage: program [options] FILE\n",
    .ending = "Exit status: 0.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .command_bit = FIRST,
    .command_title = "first",
};

enum { ARGUMENTS_MAX = 32 };

static struct options options;
static struct error error;
static char *arguments[ARGUMENTS_MAX + 1];
static char **operands;
static char text[512];

/* Parses words that are separated by blanks. */
static enum option_result parse_with(const struct option_table *with, const char *words)
{
    int count = 0;
    char *rest;

    option_list_free(&options.files);
    option_list_free(&options.variables);
    memset(&options, 0, sizeof options);
    assert_true(snprintf(text, sizeof text, "program %s", words) < (int)sizeof text);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        assert_true(count < ARGUMENTS_MAX);
        arguments[count++] = word;
    }
    arguments[count] = NULL;
    return option_parse(with, count, arguments, &options, &operands, &error);
}

static enum option_result parse(const char *words)
{
    return parse_with(&table, words);
}

static void test_each_kind(void **state)
{
    (void)state;
    assert_int_equal(parse("--loud --name=me --file a --file b --env A=1 --number 3 --wait 0.5 "
                           "--bytes 2K --place 0 --colour-of-the-whole green --hidden four"),
                     OPTION_TAKEN);
    assert_true(options.loud && options.number_given);
    assert_string_equal(options.name, "me");
    assert_int_equal(options.files.count, 2);
    assert_string_equal(options.files.items[1], "b");
    assert_string_equal(options.variables.items[0], "A=1");
    assert_int_equal(options.number, 3);
    assert_int_equal(options.wait_ms, 500);
    assert_int_equal(options.bytes, 2048);
    assert_int_equal(options.colour, GREEN);
    assert_int_equal(options.length, 4);
    assert_null(operands[0]);
}

static void test_letters_and_operands(void **state)
{
    const struct option_table ends = {
        .program = "program", .rows = rows, .row_count = table.row_count, .ends_at_operand = true};

    (void)state;
    assert_int_equal(parse("-ln me file -- --loud"), OPTION_TAKEN);
    assert_true(options.loud);
    assert_string_equal(options.name, "me");
    assert_string_equal(operands[0], "file");
    assert_string_equal(operands[1], "--loud");
    assert_null(operands[2]);
    assert_int_equal(parse("file --loud"), OPTION_TAKEN);
    assert_true(options.loud);
    assert_int_equal(parse_with(&ends, "file --loud"), OPTION_TAKEN);
    assert_false(options.loud);
    assert_string_equal(operands[1], "--loud");
}

static void test_errors(void **state)
{
    static const struct {
        const char *words, *complaint;
    } wrong[] = {
        {"--such", "unknown option --such"},
        {"--name", "--name needs a value"},
        {"--loud=yes", "--loud takes no value"},
        {"--number 1", "--number needs a number from 2 to 9, not '1'"},
        {"--number x", "--number needs a number from 2 to 9, not 'x'"},
        {"--env =1", "--env needs NAME=VALUE, not '=1'"},
        {"--env A", "--env needs NAME=VALUE, not 'A'"},
        {"--place -1", "--place needs a number from 0 to 9223372036854775807, not '-1'"},
        {"--wait 11", "--wait needs seconds from 0 to 10, not '11'"},
        {"--bytes 0", "--bytes needs bytes, such as 500000 or 64M, not '0'"},
        {"--colour-of-the-whole blue", "--colour-of-the-whole is red or green, not 'blue'"},
        {"--hidden xyz", "--hidden: no 'xyz'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(parse(wrong[i].words), OPTION_FAILED);
        assert_int_equal(error.kind, ERROR_USAGE);
        assert_string_equal(error.text, wrong[i].complaint);
    }
    assert_int_equal(option_end(&table, OPTION_FAILED, &error), ERROR_USAGE);
    assert_int_equal(option_end(&table, OPTION_SHOWN, &error), 0);
}

static void test_an_option_of_another_command(void **state)
{
    struct option_table tables[] = {table, table, table}, second = table;

    (void)state;
    tables[1].command_bit = SECOND;
    tables[1].command_title = "second";
    second.command_bit = SECOND;
    second.commands = tables;
    second.command_count = 1;
    assert_int_equal(parse_with(&second, "--colour-of-the-whole red"), OPTION_FAILED);
    assert_string_equal(error.text, "--colour-of-the-whole goes only with first");
    assert_int_equal(parse_with(&second, "--loud"), OPTION_TAKEN);
}

/* Returns what parse(words) prints, to be freed. */
static char *printed_by(const char *words)
{
    char *printed = NULL;
    size_t size = 0;
    FILE *before = stdout;
    enum option_result result;

    stdout = open_memstream(&printed, &size);
    assert_non_null(stdout);
    result = parse(words);
    fclose(stdout);
    stdout = before;
    assert_int_equal(result, OPTION_SHOWN);
    return printed;
}

static void test_help(void **state)
{
    char *printed = printed_by("--help");

    (void)state;
    assert_string_equal(
        printed, "usage: program [options] FILE\n"
                 "\n"
                 "What there is:\n"
                 "  -l, --loud                say more\n"
                 "  -n, --name NAME           whose it is\n"
                 "  --file FILE               read this\n"
                 "  --env NAME=VALUE          set it\n"
                 "  --number N                how many of them there are, which takes more words\n"
                 "                            than fit into one line of the text\n"
                 "  --wait SECS               how long\n"
                 "  --bytes SIZE              how large\n"
                 "  --place N                 where\n"
                 "  --colour-of-the-whole red|green\n"
                 "                            which\n"
                 "\n"
                 "Help:\n"
                 "  --help                    print this and exit\n"
                 "  --version                 print the version and exit\n"
                 "\n"
                 "Exit status: 0.\n");
    free(printed);
}

static void test_version(void **state)
{
    char *printed = printed_by("--version");

    (void)state;
    assert_string_equal(printed, "program " GASPIPE_VERSION "\n");
    free(printed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind), cmocka_unit_test(test_letters_and_operands),
        cmocka_unit_test(test_errors),    cmocka_unit_test(test_an_option_of_another_command),
        cmocka_unit_test(test_help),      cmocka_unit_test(test_version),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    option_list_free(&options.files);
    option_list_free(&options.variables);
    return failed;
}
