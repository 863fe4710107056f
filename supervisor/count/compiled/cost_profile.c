/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/compiled/cost_profile.h"

#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/number.h"
#include "counter/pair_table.h"
#include "supervisor/count/profile/profile_builder.h"

#define PROFILE_BYTES_MAX ((size_t)1 << 32)

/* Chains are no deeper (DEPTH_MAX of meter/runtime/profile.c), by far. */
enum { STACK_DEPTH_MAX = 1024 };

/* While a profile is read. A process numbers its own functions and stacks, from 1. */
struct reading {
    struct profile_builder builder;
    void *named;                         /* tree of struct named, for tsearch(3) */
    const char *object;                  /* of the process at hand */
    struct pair_table functions, stacks; /* of the process: from a number to the index and 1 */
    uint64_t cost, found;                /* of the process, and the sum of its stacks */
};

/* "12 34 ": `count` numbers, each with the blank behind it. */
static bool take_numbers(const char **at, uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!number_take(at, &numbers[i]) || *(*at)++ != ' ')
            return false;
    return true;
}

static int fit_line(uint64_t line)
{
    return line <= INT_MAX ? (int)line : 0;
}

/* ---- functions: equal ones of several processes and modules become one ---- */

/* A function's index by what it is called. Texts are borrowed from what is read. */
struct named {
    const char *object, *name, *source;
    int line;
    size_t index;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = (x->line > y->line) - (x->line < y->line);

    if (order == 0)
        order = strcmp(x->name, y->name);
    if (order == 0)
        order = strcmp(x->source, y->source);
    return order != 0 ? order : strcmp(x->object, y->object);
}

static bool add_function(struct reading *reading, const char *name, const char *source, int line)
{
    struct profile_function *added = profile_builder_add_function(&reading->builder);

    if (added == NULL)
        return false;
    *added = (struct profile_function){
        .object = strdup(reading->object), .name = count_profile_fit_name(name), .line = line};
    if (strcmp(source, "-") != 0)
        added->source = count_profile_fit_name(source);
    return added->object != NULL && added->name != NULL &&
           (added->source != NULL) == (strcmp(source, "-") != 0);
}

/* Its index, also of one that is new; SIZE_MAX without memory. */
static size_t function_called(struct reading *reading, const char *name, const char *source,
                              int line)
{
    struct named *wanted = malloc(sizeof *wanted), **found;

    if (wanted == NULL)
        return SIZE_MAX;
    *wanted = (struct named){.object = reading->object,
                             .name = name,
                             .source = source,
                             .line = line,
                             .index = reading->builder.profile->function_count};
    found = tsearch(wanted, &reading->named, compare_named);
    if (found == NULL || *found != wanted) {
        free(wanted);
        return found == NULL ? SIZE_MAX : (*found)->index;
    }
    return add_function(reading, name, source, line) ? wanted->index : SIZE_MAX;
}

/* A number of the process comes to stand for an index. */
static bool know(struct pair_table *numbers, uint64_t number, size_t index)
{
    struct pair *known = pair_table_find(numbers, number, 0);

    if (known == NULL || known->value != 0)
        return false;
    known->value = index + 1;
    return true;
}

/* function NUMBER LINE NAME FILE */
static bool take_function(struct reading *reading, char *text)
{
    const char *at = text;
    uint64_t numbers[2];
    char *file;
    size_t index;

    if (!take_numbers(&at, numbers, 2))
        return false;
    file = strchr(at, ' ');
    if (file == NULL)
        return false;
    *file++ = '\0';
    index = function_called(reading, at, file, fit_line(numbers[1]));
    return index != SIZE_MAX && know(&reading->functions, numbers[0], index);
}

/* ---- stacks ---- */

static bool is_too_deep(const struct count_profile *profile, size_t stack)
{
    int depth = 0;

    for (; stack != 0 && depth < STACK_DEPTH_MAX; stack = profile->stacks[stack].parent)
        depth++;
    return stack != 0;
}

/* stack NUMBER PARENT FUNCTION CALLS UNITS; what follows the last number is the line's end. */
static bool take_stack(struct reading *reading, const char *text)
{
    struct profile_stack *stacks;
    uint64_t numbers[4], units, parent, function;
    size_t stack;

    if (!take_numbers(&text, numbers, 4) || !number_take(&text, &units) || *text != '\0')
        return false;
    parent = numbers[1] == 0 ? 1 : pair_table_value(&reading->stacks, numbers[1], 0);
    function = pair_table_value(&reading->functions, numbers[2], 0);
    if (parent == 0 || function == 0 || is_too_deep(reading->builder.profile, parent - 1) ||
        units > (uint64_t)INT64_MAX - reading->found)
        return false;
    stack = profile_builder_child(&reading->builder, parent - 1, function - 1);
    if (stack == 0 || !know(&reading->stacks, numbers[0], stack))
        return false;
    stacks = reading->builder.profile->stacks;
    stacks[stack].self += units;
    stacks[stack].calls += numbers[3];
    reading->found += units;
    return true;
}

/* line FUNCTION LINE UNITS FILE */
static bool take_place(struct reading *reading, const char *text)
{
    struct profile_place *added;
    uint64_t numbers[3], function;

    if (!take_numbers(&text, numbers, 3))
        return false;
    function = pair_table_value(&reading->functions, numbers[0], 0);
    if (function == 0)
        return false;
    added = profile_builder_add_place(&reading->builder);
    if (added == NULL)
        return false;
    *added = (struct profile_place){
        .function = function - 1,
        .source = count_profile_fit_name(strcmp(text, "-") != 0 ? text : "[unknown]"),
        .line = fit_line(numbers[1]),
        .self = numbers[2],
    };
    return added->source != NULL;
}

/* ---- all of it ---- */

/* What a process cost beyond its profile, in code that was compiled without one. */
static bool finish_process(struct reading *reading)
{
    size_t index;

    if (reading->object == NULL || reading->cost <= reading->found)
        return true;
    index = function_called(reading, "[unprofiled]", "-", 0);
    return index != SIZE_MAX &&
           profile_builder_add_stack(
               &reading->builder,
               (struct profile_stack){.function = index, .self = reading->cost - reading->found});
}

/* process COST PROGRAM */
static bool take_process(struct reading *reading, const char *text)
{
    if (!finish_process(reading) || !take_numbers(&text, &reading->cost, 1) || *text == '\0')
        return false;
    reading->object = text;
    pair_table_free(&reading->functions);
    pair_table_free(&reading->stacks);
    reading->found = 0;
    return true;
}

static bool cost_profile_take_line(struct reading *reading, char *line)
{
    if (strncmp(line, "process ", 8) == 0)
        return take_process(reading, line + 8);
    if (reading->object == NULL)
        return false;
    if (strncmp(line, "function ", 9) == 0)
        return take_function(reading, line + 9);
    if (strncmp(line, "stack ", 6) == 0)
        return take_stack(reading, line + 6);
    return strncmp(line, "line ", 5) == 0 && take_place(reading, line + 5);
}

static int compare_places(const void *a, const void *b)
{
    const struct profile_place *x = a, *y = b;
    int order;

    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    order = strcmp(x->source, y->source);
    return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

/* Those of several processes and of one function's blocks become one. */
static void merge_places(struct count_profile *profile)
{
    size_t merged = 0;

    if (profile->place_count == 0) /* qsort(3) may not be given NULL */
        return;
    qsort(profile->places, profile->place_count, sizeof *profile->places, compare_places);
    for (size_t i = 0; i < profile->place_count; i++) {
        struct profile_place *last = merged > 0 ? &profile->places[merged - 1] : NULL;

        if (last != NULL && compare_places(last, &profile->places[i]) == 0) {
            last->self += profile->places[i].self;
            free(profile->places[i].source);
        } else {
            profile->places[merged++] = profile->places[i];
        }
    }
    profile->place_count = merged;
}

/* Ends the lines of the text. */
static int take_text(struct reading *reading, char *text, struct error *error)
{
    size_t number = 0;
    char *end;

    for (char *line = text; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        number++;
        if (!cost_profile_take_line(reading, line))
            return error_set(error, ERROR_INPUT,
                             "line %zu of the program's profile cannot be taken", number);
    }
    if (!finish_process(reading))
        return error_memory(error, "the profile");
    merge_places(reading->builder.profile);
    return count_profile_sum(reading->builder.profile, error);
}

int cost_profile_take(struct count_profile *profile, char *text, struct error *error)
{
    struct reading reading = {0};
    int result = -1;

    *profile = (struct count_profile){.unit = "blockCost"};
    if (!profile_builder_start(&reading.builder, profile))
        error_memory(error, "the profile");
    else
        result = take_text(&reading, text, error);
    tdestroy(reading.named, free);
    pair_table_free(&reading.functions);
    pair_table_free(&reading.stacks);
    profile_builder_free(&reading.builder);
    if (result != 0)
        count_profile_free(profile);
    return result;
}

int cost_profile_read(struct count_profile *profile, const char *path, struct error *error)
{
    struct buf text = {0};
    int result = -1;

    *profile = (struct count_profile){0};
    if (io_read_file(path, PROFILE_BYTES_MAX, &text, error) == 0) {
        if (buf_string(&text) == NULL)
            error_memory(error, "the profile");
        else
            result = cost_profile_take(profile, text.data, error);
    }
    if (result == 0 && profile->place_count == 0) {
        count_profile_free(profile);
        result =
            error_set(error, ERROR_INPUT,
                      "the program has no profile: compile it with gaspipe-cc --meter=--profile");
    }
    buf_free(&text);
    return result;
}
