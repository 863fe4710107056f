/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_text.h"
#include "base/pair_table.h"

struct function {
    char *name; /* owned; NULL: memory ran out */
    char *file; /* owned; NULL: native */
    uint32_t line;
};

struct cost {
    int64_t computrons;
    uint64_t instructions;
};

struct node {
    uint32_t caller, function;
    uint64_t calls;
    struct cost cost;
};

struct line {
    uint32_t file, line;
    struct cost cost;
};

/* Caches of recent lookups, one place for each hash: a contract repeats few calls and lines.
 * Entries of earlier commands have another `command`. */
enum { RECENT_CALLS = 256, RECENT_LINES = 256 };

struct recent_call {
    struct profile_key key;
    uint32_t caller, node, command;
};

struct recent_line {
    uint32_t file, line, number, command;
};

struct profile {
    struct function *functions;
    size_t function_count, function_capacity;
    struct pair_table function_numbers; /* by key */

    char **files; /* by the engine's number, owned; NULL: not met */
    size_t file_capacity;

    /* The current command's. */
    struct node *nodes;
    size_t node_count, node_capacity;
    struct pair_table node_numbers; /* by caller and function */
    struct line *lines;
    size_t line_count, line_capacity;
    struct pair_table line_numbers; /* by file and line */
    uint32_t command;               /* counts commands from 1 on */
    bool failed;

    struct recent_call recent_calls[RECENT_CALLS];
    struct recent_line recent_lines[RECENT_LINES];
};

enum { ENGINE_FUNCTION = 0 };

struct profile *profile_new(void)
{
    struct profile *profile = calloc(1, sizeof *profile);
    bool known;

    if (profile == NULL)
        return NULL;
    profile_name_function(profile, profile_function(profile, (struct profile_key){0}, &known),
                          "(engine)", NULL, 0);
    profile_begin(profile);
    if (!profile->failed)
        return profile;
    profile_free(profile);
    return NULL;
}

void profile_free(struct profile *profile)
{
    if (profile == NULL)
        return;
    for (size_t i = 0; i < profile->function_count; i++) {
        free(profile->functions[i].name);
        free(profile->functions[i].file);
    }
    for (size_t i = 0; i < profile->file_capacity; i++)
        free(profile->files[i]);
    free(profile->files);
    free(profile->functions);
    free(profile->nodes);
    free(profile->lines);
    pair_table_free(&profile->function_numbers);
    pair_table_free(&profile->node_numbers);
    pair_table_free(&profile->line_numbers);
    free(profile);
}

/* Returns the place of a pair's number, which is stored one higher: 0 is new. NULL if out of
 * memory. */
static uint64_t *number_of_profile(struct profile *profile, struct pair_table *numbers, uint64_t a,
                                   uint64_t b)
{
    struct pair *pair = pair_table_find(numbers, a, b);

    if (pair == NULL) {
        profile->failed = true;
        return NULL;
    }
    return &pair->value;
}

static bool reserve_profile_items(struct profile *profile, void *items_pointer, size_t *capacity,
                                  size_t count, size_t size)
{
    void **items = items_pointer;
    void *more = array_reserve(*items, capacity, count + 1, size);

    if (more == NULL) {
        profile->failed = true;
        return false;
    }
    *items = more;
    return true;
}

static uint32_t add_call_node(struct profile *profile, uint32_t caller, uint32_t function)
{
    if (!reserve_profile_items(profile, &profile->nodes, &profile->node_capacity,
                               profile->node_count, sizeof *profile->nodes))
        return 0;
    profile->nodes[profile->node_count] = (struct node){.caller = caller, .function = function};
    return (uint32_t)profile->node_count++;
}

void profile_begin(struct profile *profile)
{
    pair_table_free(&profile->node_numbers);
    pair_table_free(&profile->line_numbers);
    profile->node_numbers = profile->line_numbers = (struct pair_table){0};
    profile->node_count = profile->line_count = 0;
    profile->failed = false;
    /* At 2^32 commands the number wraps, and entries of the first command would look current. */
    if (++profile->command == 0) {
        memset(profile->recent_calls, 0, sizeof profile->recent_calls);
        memset(profile->recent_lines, 0, sizeof profile->recent_lines);
        profile->command = 1;
    }
    (void)add_call_node(profile, 0, ENGINE_FUNCTION);
    if (reserve_profile_items(profile, &profile->lines, &profile->line_capacity, 0,
                              sizeof *profile->lines))
        profile->lines[profile->line_count++] = (struct line){0};
}

uint32_t profile_function(struct profile *profile, struct profile_key key, bool *known)
{
    uint64_t *number = number_of_profile(profile, &profile->function_numbers, key.a, key.b);

    *known = true;
    if (number == NULL)
        return ENGINE_FUNCTION;
    if (*number > 0)
        return (uint32_t)(*number - 1);
    if (!reserve_profile_items(profile, &profile->functions, &profile->function_capacity,
                               profile->function_count, sizeof *profile->functions))
        return ENGINE_FUNCTION;
    *known = false;
    profile->functions[profile->function_count++] = (struct function){0};
    *number = profile->function_count;
    return (uint32_t)(*number - 1);
}

void profile_name_function(struct profile *profile, uint32_t function, const char *name,
                           const char *file, uint32_t line)
{
    struct function *named = &profile->functions[function];

    if (function >= profile->function_count)
        return;
    named->name = strdup(name);
    named->file = file != NULL ? strdup(file) : NULL;
    named->line = line;
    if (named->name == NULL || (file != NULL && named->file == NULL))
        profile->failed = true;
}

static struct recent_call *recent_call(struct profile *profile, uint32_t caller,
                                       struct profile_key key)
{
    const uint64_t mixed = (key.a ^ key.b << 20 ^ caller) * 0x9e3779b97f4a7c15;

    return &profile->recent_calls[mixed >> 32 & (RECENT_CALLS - 1)];
}

bool profile_call_again(struct profile *profile, uint32_t caller, struct profile_key key,
                        uint32_t *node)
{
    const struct recent_call *recent = recent_call(profile, caller, key);

    if (recent->command != profile->command || recent->caller != caller || recent->key.a != key.a ||
        recent->key.b != key.b)
        return false;
    profile->nodes[recent->node].calls++;
    *node = recent->node;
    return true;
}

uint32_t profile_call(struct profile *profile, uint32_t caller, struct profile_key key,
                      uint32_t function)
{
    uint64_t *number = number_of_profile(profile, &profile->node_numbers, caller, function);

    if (number == NULL)
        return 0;
    if (*number == 0)
        *number = (uint64_t)add_call_node(profile, caller, function) + 1;
    profile->nodes[*number - 1].calls++;
    *recent_call(profile, caller, key) =
        (struct recent_call){key, caller, (uint32_t)(*number - 1), profile->command};
    return (uint32_t)(*number - 1);
}

static uint32_t add_line(struct profile *profile, uint32_t file, uint32_t line)
{
    uint64_t *number = number_of_profile(profile, &profile->line_numbers, file, line);

    if (number == NULL)
        return 0;
    if (*number > 0)
        return (uint32_t)(*number - 1);
    if (!reserve_profile_items(profile, &profile->lines, &profile->line_capacity,
                               profile->line_count, sizeof *profile->lines))
        return 0;
    profile->lines[profile->line_count++] = (struct line){.file = file, .line = line};
    *number = profile->line_count;
    return (uint32_t)(*number - 1);
}

uint32_t profile_line(struct profile *profile, uint32_t file, uint32_t line)
{
    struct recent_line *recent = &profile->recent_lines[(line ^ file << 4) & (RECENT_LINES - 1)];

    if (recent->command != profile->command || recent->file != file || recent->line != line)
        *recent = (struct recent_line){file, line, add_line(profile, file, line), profile->command};
    return recent->number;
}

bool profile_knows_file(const struct profile *profile, uint32_t file)
{
    return file < profile->file_capacity && profile->files[file] != NULL;
}

void profile_name_file(struct profile *profile, uint32_t file, const char *name)
{
    const size_t before = profile->file_capacity;

    if (file >= before) {
        if (!reserve_profile_items(profile, &profile->files, &profile->file_capacity, file,
                                   sizeof *profile->files))
            return;
        memset(profile->files + before, 0,
               (profile->file_capacity - before) * sizeof *profile->files);
    }
    profile->files[file] = strdup(name);
    profile->failed |= profile->files[file] == NULL;
}

static void add_profile_cost(struct cost *cost, int64_t computrons, uint64_t instructions)
{
    cost->computrons += computrons;
    cost->instructions += instructions;
}

void profile_charge(struct profile *profile, uint32_t node, uint32_t line, int64_t computrons,
                    uint64_t instructions)
{
    if (profile->failed)
        return;
    add_profile_cost(&profile->nodes[node].cost, computrons, instructions);
    add_profile_cost(&profile->lines[line].cost, computrons, instructions);
}

int64_t profile_charged(const struct profile *profile)
{
    int64_t sum = 0;

    for (size_t i = 0; i < profile->node_count; i++)
        sum += profile->nodes[i].cost.computrons;
    return sum;
}

/* ---- as JSON ---- */

static void put_text_profile(struct buf *json, const char *text)
{
    if (text == NULL)
        buf_append_string(json, "null");
    else
        json_text_string(json, text, strlen(text));
}

/* Numbers functions again, in the order of the command's nodes; `numbers` gets these, one
 * higher. */
static void put_profile_functions(const struct profile *profile, struct buf *json,
                                  uint32_t *numbers)
{
    uint32_t count = 0;

    for (size_t i = 0; i < profile->node_count; i++) {
        const uint32_t at = profile->nodes[i].function;
        const struct function *function = &profile->functions[at];

        if (numbers[at] > 0)
            continue;
        numbers[at] = ++count;
        buf_append_string(json, count > 1 ? ",[" : "[");
        put_text_profile(json, function->name);
        buf_append_byte(json, ',');
        put_text_profile(json, function->file);
        buf_printf(json, ",%u]", function->line);
    }
}

static void put_cost(struct buf *json, const struct cost *cost)
{
    buf_append_byte(json, ',');
    json_text_integer(json, cost->computrons);
    buf_append_byte(json, ',');
    json_text_unsigned(json, cost->instructions);
    buf_append_byte(json, ']');
}

static void put_command_nodes(const struct profile *profile, struct buf *json,
                              const uint32_t *numbers)
{
    for (size_t i = 0; i < profile->node_count; i++) {
        const struct node *node = &profile->nodes[i];

        buf_printf(json, "%s[%u,%u,", i > 0 ? "," : "", node->caller, numbers[node->function] - 1);
        json_text_unsigned(json, node->calls);
        put_cost(json, &node->cost);
    }
}

static void put_command_lines(const struct profile *profile, struct buf *json)
{
    for (size_t i = 0; i < profile->line_count; i++) {
        const struct line *line = &profile->lines[i];

        buf_append_string(json, i > 0 ? ",[" : "[");
        put_text_profile(json, profile_knows_file(profile, line->file) ? profile->files[line->file]
                                                                       : NULL);
        buf_printf(json, ",%u", line->line);
        put_cost(json, &line->cost);
    }
}

void profile_encode(const struct profile *profile, struct buf *json)
{
    uint32_t *numbers = calloc(profile->function_count, sizeof *numbers);

    if (profile->failed || numbers == NULL) {
        buf_append_string(json, "null");
    } else {
        buf_append_string(json, "{\"functions\":[");
        put_profile_functions(profile, json, numbers);
        buf_append_string(json, "],\"nodes\":[");
        put_command_nodes(profile, json, numbers);
        buf_append_string(json, "],\"lines\":[");
        put_command_lines(profile, json);
        buf_append_string(json, "]}");
    }
    free(numbers);
}
