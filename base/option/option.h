/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OPTION_OPTION_H
#define GASPIPE_BASE_OPTION_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Describes a command line as a table: each command lists its options in rows. One parser reads the
 * arguments, checks them and prints --help (or -h) and --version. Values go straight into the
 * command's own struct, called `options` here, which holds the defaults before. */

enum option_kind {
    OPTION_HEADING, /* a line of --help above a group of options */
    OPTION_FLAG,    /* bool: true when given; without a value */
    OPTION_TEXT,    /* const char *, borrowed from argv */
    OPTION_LIST,    /* struct option_list: one more item each time */
    OPTION_PAIRS,   /* struct option_list of NAME=VALUE; NAME is not empty */
    OPTION_NUMBER,  /* uint64_t or int64_t, from min to max */
    OPTION_BYTES,   /* int64_t, at least 1; K, M or G after the number multiplies it */
    OPTION_SECONDS, /* uint64_t in milliseconds, up to max seconds; a fraction is allowed */
    OPTION_CHOICE,  /* an enum: the index of the value in `words` */
    OPTION_OTHER,   /* take() stores the value in `place` */
};

/* Items are borrowed from argv, and may be written to; the array is the owner's. */
struct option_list {
    char **items;
    size_t count;
};

/* 0, or -1: out of memory. option_list_free() in any case. */
int option_list_add(struct option_list *list, char *item, struct error *error);
void option_list_free(struct option_list *list);

struct option_row {
    const char *name;         /* without "--"; of a heading: its text */
    const char *metavariable; /* what --help and errors call the value; choices: NULL, the words */
    const char *help;         /* NULL: not in --help */
    enum option_kind kind;
    char letter;  /* a short name, but not 'h', or 0 */
    size_t place; /* offset in the options */
    size_t given; /* offset of a bool there that becomes true too; 0: none */
    uint64_t min, max;
    const char *const *words; /* ends with NULL */
    /* Returns 0, or -1 with ERROR_USAGE. `option` is its name with "--", for errors. */
    int (*take)(void *place, const char *option, char *value, struct error *error);
    unsigned commands; /* bits: the commands that have it; 0: all */
};

/* The end of a row: kind and place. A member of the wrong type does not compile. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type in _Generic() cannot have parentheses */
#define OPTION_PLACE(type, member, member_type)                                                    \
    (offsetof(type, member) +                                                                      \
     0 * sizeof(char[_Generic(((type *)NULL)->member, member_type : 1, default                     \
                              : -1)]))
/* NOLINTEND(bugprone-macro-parentheses) */

#define OPTION_IS_FLAG(type, member) .kind = OPTION_FLAG, .place = OPTION_PLACE(type, member, bool)
#define OPTION_IS_TEXT(type, member)                                                               \
    .kind = OPTION_TEXT, .place = OPTION_PLACE(type, member, const char *)
#define OPTION_IS_LIST(type, member)                                                               \
    .kind = OPTION_LIST, .place = OPTION_PLACE(type, member, struct option_list)
#define OPTION_IS_PAIRS(type, member)                                                              \
    .kind = OPTION_PAIRS, .place = OPTION_PLACE(type, member, struct option_list)
#define OPTION_IS_NUMBER(type, member, min_, max_)                                                 \
    .kind = OPTION_NUMBER, .place = OPTION_PLACE(type, member, uint64_t), .min = (min_),           \
    .max = (max_)
#define OPTION_IS_PLACE(type, member) /* from 0 to INT64_MAX */                                    \
    .kind = OPTION_NUMBER, .place = OPTION_PLACE(type, member, int64_t), .max = INT64_MAX
#define OPTION_IS_BYTES(type, member)                                                              \
    .kind = OPTION_BYTES, .place = OPTION_PLACE(type, member, int64_t)
#define OPTION_IS_SECONDS(type, member, max_)                                                      \
    .kind = OPTION_SECONDS, .place = OPTION_PLACE(type, member, uint64_t), .max = (max_)
#define OPTION_IS_OTHER(type, member, take_)                                                       \
    .kind = OPTION_OTHER, .place = offsetof(type, member), .take = (take_)
#define OPTION_IS_CHOICE(type, member, words_)                                                     \
    .kind = OPTION_CHOICE, .words = (words_),                                                      \
    .place = offsetof(type, member) +                                                              \
             0 * sizeof(char[sizeof(((type *)NULL)->member) == sizeof(int) ? 1 : -1])

struct option_table {
    const char *program; /* "gaspipe" */
    const char *command; /* "run"; NULL: the program has none, or this is the one without a name */
    const char *usage;   /* --help above the options: synopsis and purpose */
    const char *ending;  /* --help below them: exit statuses */
    const struct option_row *rows;
    size_t row_count;
    bool ends_at_operand;      /* arguments after the first operand belong to another program */
    unsigned command_bit;      /* of `commands` in rows; 0: all rows apply */
    const char *command_title; /* names this command in errors about options of another */
    /* All commands with these rows, from which an error names those that have a row. */
    const struct option_table *commands;
    size_t command_count;
};

enum option_result {
    OPTION_FAILED = -1, /* with *error */
    OPTION_TAKEN,       /* carry on */
    OPTION_SHOWN,       /* --help or --version was given, and is printed: nothing else to do */
};

/*
 * Returns true if --help lists the row: an option of the table's command, or a heading of such
 * options.
 */
bool option_row_is_shown(const struct option_table *table, const struct option_row *row);

/*
 * Reads the command line; argv[0] is the command's or program's name. argv is reordered so that
 * *operands, a part of it that ends with NULL, holds what is neither option nor value. Lists in
 * the options are to be freed whatever the result.
 */
enum option_result option_parse(const struct option_table *table, int argc, char **argv,
                                void *options, char ***operands, struct error *error);

/*
 * The exit status of a command that does not carry on. An error is logged, with where to find
 * help if it is one of usage.
 */
int option_end(const struct option_table *table, enum option_result result,
               const struct error *error);

/* Prints this text on stdout: 0, or -1 with ERROR_SYSTEM if it cannot be written. */
int option_print(const char *text, struct error *error);

/* Prints --help. -1 if stdout cannot be written. */
int option_help(const struct option_table *table);

/* "did you mean ...?": finds the name closest to an unknown word. Begin with {.word = WORD}, try
 * each name, and ask for the hint. */
struct similar {
    const char *word;
    char best[64];   /* "": no name is close */
    size_t distance; /* of best */
    char hint[128];
};

/*
 * A name is close if it begins with the word, or if few letters have to be changed, inserted,
 * deleted or swapped: one for each three letters of the word. The first of equally close names
 * stays.
 */
void similar_try(struct similar *similar, const char *name);

/* "; did you mean --NAME?" if `before` is "--"; "" if no name is close. */
const char *similar_hint(struct similar *similar, const char *before);

#endif
