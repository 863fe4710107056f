/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/sha.h>

#include "base/array.h"
#include "base/number.h"
#include "meter/costs/cost_table.h"

#define WORDS_MAX 10

/* Rejects mistakes, and keeps sums below the maximum of 64 bits. */
#define COST_MAX 1000000

__asm__(".pushsection .rodata\n"
        ".global cost_table_builtin, cost_table_builtin_length\n"
        "cost_table_builtin:\n"
        ".incbin \"meter/costs/default.table\"\n"
        "1: .byte 0\n"
        ".balign 8\n"
        "cost_table_builtin_length: .quad 1b - cost_table_builtin\n"
        ".popsection\n");

struct line {
    const char *table;
    unsigned number;
    char *words[WORDS_MAX];
    size_t count;
};

static int complain(const struct line *line, const char *what, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s:%u: %s", line->table, line->number, what);
}

static int read_number(const struct line *line, size_t word, uint32_t *number, struct error *error)
{
    const char *text = word < line->count ? line->words[word] : "";
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || value > COST_MAX)
        return complain(line, "a number from 0 to 1000000 is missing", error);
    *number = (uint32_t)value;
    return 0;
}

static const struct cost_kind kinds[] = {
    {"bytes", "n", .reader = NULL},
    {"product", "nn", .reader = "gasmeter_product_bytes"},
    {"result", "", .result = 'n'},
    {"count", "", .result = 's', .reader = "gasmeter_count_bytes"},
    {"printed", "", .result = 'i', .reader = "gasmeter_count_bytes"},
    {"items", "n", .result = 's', .reader = "gasmeter_product_bytes"},
    {"returned", "", .result = 'p', .reader = "gasmeter_string_bytes"},
    {"string", "p", .reader = "gasmeter_string_bytes"},
    {"format", "p", .is_format = true, .reader = "gasmeter_string_bytes"},
    {"text", "ps", .reader = "gasmeter_text_bytes"},
    {"number", "p", .reader = "gasmeter_number_bytes"},
    {"token", "ppp", .reader = "gasmeter_token_bytes"},
    {"reach", "p", .result = 'p', .reader = "gasmeter_reach_bytes"},
    {"moved", "p", .mark = "gasmeter_place", .reader = "gasmeter_moved_bytes"},
    {"wide", "p", .reader = "gasmeter_wide_length"},
    {"wide-text", "ps", .reader = "gasmeter_wide_text_length"},
    {"wide-product", "pp", .reader = "gasmeter_wide_product"},
    {"wide-reach", "p", .result = 'p', .reader = "gasmeter_wide_reach"},
    {"wide-returned", "", .result = 'p', .reader = "gasmeter_wide_length"},
    {"strings", "pps", .compares = true, .reader = "gasmeter_common_bytes"},
    {"strings", "pp", .compares = true, .reader = "gasmeter_common_bytes"},
};

static bool is_number(const struct line *line, size_t word)
{
    return word < line->count && *line->words[word] >= '0' && *line->words[word] <= '9';
}

/* Parses a word and its arguments, and moves *word past them. */
static int read_term(const struct line *line, size_t *word, struct cost *cost, struct error *error)
{
    struct cost_term *term = &cost->terms[cost->term_count];
    size_t count = 0;

    while (is_number(line, *word + 1 + count))
        count++;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && cost->term_count < COST_TERMS_MAX; i++) {
        if (strcmp(line->words[*word], kinds[i].word) != 0 || strlen(kinds[i].arguments) != count)
            continue;
        term->kind = &kinds[i];
        for (size_t k = 0; k < count; k++)
            if (read_number(line, *word + 1 + k, &term->arguments[k], error))
                return -1;
        cost->term_count++;
        *word += 1 + count;
        return 0;
    }
    return complain(
        line,
        "after the cost, expected 'uncounted', or 'leaves' and at most two of 'bytes N', "
        "'result', 'string N' and so on, as --print-costs lists them",
        error);
}

/* Parses the words after a cost: which bytes are charged. */
static int read_terms(const struct line *line, struct cost *cost, struct error *error)
{
    size_t word = 3;

    cost->uncounted = line->count == 4 && strcmp(line->words[word], "uncounted") == 0;
    cost->leaves = line->count > word && strcmp(line->words[word], "leaves") == 0;
    if (cost->uncounted || cost->leaves)
        word++;
    while (word < line->count)
        if (read_term(line, &word, cost, error))
            return -1;
    return 0;
}

static int add_table_cost(struct cost_list *list, const struct line *line, struct error *error)
{
    struct cost cost = {0};
    struct cost *costs;

    if (line->count < 3 || read_number(line, 2, &cost.fixed, error))
        return complain(line, "expected a name and a cost", error);
    if (read_terms(line, &cost, error))
        return -1;
    cost.name = line->words[1];
    cost.name_length = strlen(cost.name);
    costs = array_reserve(list->costs, &list->capacity, list->count + 1, sizeof cost);
    if (!costs)
        return error_memory(error, "the cost table");
    list->costs = costs;
    costs[list->count++] = cost;
    return 0;
}

static int cost_table_take_line(struct cost_table *table, const struct line *line,
                                struct error *error)
{
    const char *word = line->words[0];

    if (strcmp(word, "version") == 0)
        return read_number(line, 1, &table->version, error);
    if (strcmp(word, "bytes-per-unit") == 0)
        return read_number(line, 1, &table->bytes_per_unit, error);
    if (strcmp(word, "instruction") == 0)
        return add_table_cost(&table->instructions, line, error);
    if (strcmp(word, "intrinsic") == 0)
        return add_table_cost(&table->intrinsics, line, error);
    if (strcmp(word, "call") == 0)
        return add_table_cost(&table->calls, line, error);
    return complain(line, "no line of a cost table begins with that word", error);
}

static int split_line(struct line *line, char *text, struct error *error)
{
    char *rest;

    line->count = 0;
    text[strcspn(text, "#")] = '\0';
    for (char *word = strtok_r(text, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest)) {
        if (line->count == WORDS_MAX)
            return complain(line, "too many words", error);
        line->words[line->count++] = word;
    }
    return 0;
}

static int take_lines(struct cost_table *table, const char *name, struct error *error)
{
    struct line line = {.table = name};
    char *next = table->text;

    for (char *text = strsep(&next, "\n"); text; text = strsep(&next, "\n")) {
        line.number++;
        if (split_line(&line, text, error))
            return -1;
        if (line.count > 0 && cost_table_take_line(table, &line, error))
            return -1;
    }
    if (table->version == 0 || table->bytes_per_unit == 0)
        return complain(&line, "a table needs 'version N' and 'bytes-per-unit N', both above 0",
                        error);
    return 0;
}

int cost_table_parse(struct cost_table *table, const char *name, const char *text, size_t length,
                     struct error *error)
{
    unsigned char hash[SHA256_DIGEST_LENGTH];

    memset(table, 0, sizeof *table);
    if (memchr(text, '\0', length))
        return error_set(error, ERROR_INPUT, "%s: this is not a cost table, there are zeros in it",
                         name);
    SHA256((const unsigned char *)text, length, hash);
    hex_write(table->hash, hash, sizeof hash);
    table->text = strndup(text, length);
    if (!table->text)
        return error_memory(error, "the cost table");
    if (take_lines(table, name, error)) {
        cost_table_free(table);
        return -1;
    }
    return 0;
}

void cost_table_free(struct cost_table *table)
{
    free(table->instructions.costs);
    free(table->intrinsics.costs);
    free(table->calls.costs);
    free(table->text);
    memset(table, 0, sizeof *table);
}

static const struct cost *cost_table_find(const struct cost_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->costs[i].name, name) == 0)
            return &list->costs[i];
    return NULL;
}

uint32_t cost_of_instruction(const struct cost_table *table, const char *name)
{
    const struct cost *cost = cost_table_find(&table->instructions, name);

    if (!cost)
        cost = cost_table_find(&table->instructions, "default");
    return cost ? cost->fixed : 1;
}

const struct cost *cost_of_intrinsic(const struct cost_table *table, const char *name)
{
    const struct cost_list *list = &table->intrinsics;
    const struct cost *best = NULL;

    for (size_t i = 0; i < list->count; i++) {
        const struct cost *cost = &list->costs[i];

        if (strncmp(name, cost->name, cost->name_length) == 0 &&
            (!best || cost->name_length > best->name_length))
            best = cost;
    }
    return best;
}

const struct cost *cost_of_call(const struct cost_table *table, const char *name)
{
    return cost_table_find(&table->calls, name);
}
