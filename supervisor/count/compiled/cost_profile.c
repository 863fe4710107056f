/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/compiled/cost_profile.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/io.h"
#include "base/number.h"
#include "counter/pair_table.h"

#define PROFILE_BYTES_MAX ((size_t)1 << 32)

/* While a profile is read. A process numbers its own functions and stacks, from 1. */
struct reading {
    struct count_profile *profile;
    const char *object; /* of the process at hand */
    size_t *functions;  /* of the process, from number to index */
    size_t function_count, function_room;
    size_t *stacks;
    size_t stack_count, stack_room;
    struct pair_table children; /* from (stack, function) to stack */
    size_t all_functions_room, all_stacks_room, places_room;
    uint64_t cost, found; /* of the process: what it costs, and the sum of its stacks */
};

static bool append(size_t **items, size_t *count, size_t *room, size_t item)
{
    size_t *larger = array_reserve(*items, room, *count + 1, sizeof *larger);

    if (larger == NULL)
        return false;
    *items = larger;
    larger[(*count)++] = item;
    return true;
}

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

static bool is_function(const struct profile_function *function, const char *object,
                        const char *name, const char *source, int line)
{
    return function->line == line && strcmp(function->name, name) == 0 &&
           strcmp(function->object, object) == 0 &&
           strcmp(function->source != NULL ? function->source : "-", source) == 0;
}

static size_t find_function(const struct reading *reading, const char *name, const char *source,
                            int line)
{
    const struct count_profile *profile = reading->profile;
    size_t i = 0;

    while (i < profile->function_count &&
           !is_function(&profile->functions[i], reading->object, name, source, line))
        i++;
    return i;
}

static bool add_function(struct reading *reading, const char *name, const char *source, int line)
{
    struct count_profile *profile = reading->profile;
    struct profile_function *larger =
        array_reserve(profile->functions, &reading->all_functions_room, profile->function_count + 1,
                      sizeof *larger);
    struct profile_function *added;

    if (larger == NULL)
        return false;
    profile->functions = larger;
    added = &larger[profile->function_count++];
    *added = (struct profile_function){
        .object = strdup(reading->object), .name = count_profile_fit_name(name), .line = line};
    if (strcmp(source, "-") != 0)
        added->source = count_profile_fit_name(source);
    return added->object != NULL && added->name != NULL &&
           (added->source != NULL) == (strcmp(source, "-") != 0);
}

/* function NUMBER LINE NAME FILE */
static bool take_function(struct reading *reading, char *text)
{
    const char *at = text;
    uint64_t numbers[2];
    char *file;
    size_t index;

    if (!take_numbers(&at, numbers, 2) || numbers[0] != reading->function_count + 1)
        return false;
    file = strchr(at, ' ');
    if (file == NULL)
        return false;
    *file++ = '\0';
    index = find_function(reading, at, file, fit_line(numbers[1]));
    if (index == reading->profile->function_count &&
        !add_function(reading, at, file, fit_line(numbers[1])))
        return false;
    return append(&reading->functions, &reading->function_count, &reading->function_room, index);
}

/* ---- stacks ---- */

static bool add_stack(struct reading *reading, struct profile_stack stack)
{
    struct count_profile *profile = reading->profile;
    struct profile_stack *larger = array_reserve(profile->stacks, &reading->all_stacks_room,
                                                 profile->stack_count + 1, sizeof *larger);

    if (larger == NULL)
        return false;
    profile->stacks = larger;
    larger[profile->stack_count++] = stack;
    return true;
}

/* stack NUMBER PARENT FUNCTION CALLS UNITS; what follows the last number is the line's end. */
static bool take_stack(struct reading *reading, const char *text)
{
    struct count_profile *profile = reading->profile;
    uint64_t numbers[4], units;
    size_t parent, function;
    struct pair *child;

    if (!take_numbers(&text, numbers, 4) || !number_take(&text, &units) || *text != '\0' ||
        numbers[0] != reading->stack_count + 1 || numbers[1] >= numbers[0] || numbers[2] == 0 ||
        numbers[2] > reading->function_count)
        return false;
    parent = numbers[1] == 0 ? 0 : reading->stacks[numbers[1] - 1];
    function = reading->functions[numbers[2] - 1];
    child = pair_table_find(&reading->children, parent, function);
    if (child == NULL)
        return false;
    if (child->value == 0) {
        child->value = profile->stack_count;
        if (!add_stack(reading, (struct profile_stack){.parent = parent, .function = function}))
            return false;
    }
    profile->stacks[child->value].self += units;
    profile->stacks[child->value].calls += numbers[3];
    reading->found += units;
    return append(&reading->stacks, &reading->stack_count, &reading->stack_room, child->value);
}

/* line FUNCTION LINE UNITS FILE */
static bool take_place(struct reading *reading, const char *text)
{
    struct count_profile *profile = reading->profile;
    struct profile_place *larger;
    uint64_t numbers[3];
    const char *source;

    if (!take_numbers(&text, numbers, 3) || numbers[0] == 0 || numbers[0] > reading->function_count)
        return false;
    larger = array_reserve(profile->places, &reading->places_room, profile->place_count + 1,
                           sizeof *larger);
    if (larger == NULL)
        return false;
    profile->places = larger;
    source = strcmp(text, "-") != 0 ? text : "[unknown]";
    larger[profile->place_count] = (struct profile_place){
        .function = reading->functions[numbers[0] - 1],
        .source = count_profile_fit_name(source),
        .line = fit_line(numbers[1]),
        .self = numbers[2],
    };
    return larger[profile->place_count++].source != NULL;
}

/* ---- all of it ---- */

/* What a process cost beyond its profile, in code that was compiled without one. */
static bool finish_process(struct reading *reading)
{
    static const char name[] = "[unprofiled]";
    size_t index;

    if (reading->object == NULL || reading->cost <= reading->found)
        return true;
    index = find_function(reading, name, "-", 0);
    return (index < reading->profile->function_count || add_function(reading, name, "-", 0)) &&
           add_stack(reading, (struct profile_stack){.function = index,
                                                     .self = reading->cost - reading->found});
}

/* process COST PROGRAM */
static bool take_process(struct reading *reading, const char *text)
{
    if (!finish_process(reading) || !take_numbers(&text, &reading->cost, 1) || *text == '\0')
        return false;
    reading->object = text;
    reading->function_count = reading->stack_count = 0;
    reading->found = 0;
    return true;
}

static bool take_line(struct reading *reading, char *line)
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

static int take_text(struct reading *reading, char *text, struct error *error)
{
    size_t number = 0;
    char *end;

    if (!add_stack(reading, (struct profile_stack){0}))
        return error_memory(error, "the profile");
    for (char *line = text; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        number++;
        if (!take_line(reading, line))
            return error_set(error, ERROR_INPUT,
                             "line %zu of the program's profile cannot be taken", number);
    }
    if (reading->profile->place_count == 0)
        return error_set(
            error, ERROR_INPUT,
            "the program has no profile: compile it with gaspipe-cc --meter=--profile");
    if (!finish_process(reading))
        return error_memory(error, "the profile");
    merge_places(reading->profile);
    return count_profile_sum(reading->profile, error);
}

int cost_profile_read(struct count_profile *profile, const char *path, struct error *error)
{
    struct reading reading = {.profile = profile};
    struct buf text = {0};
    int result = -1;

    *profile = (struct count_profile){.unit = "blockCost"};
    if (io_read_file(path, PROFILE_BYTES_MAX, &text, error) == 0) {
        if (buf_string(&text) == NULL)
            error_memory(error, "the profile");
        else
            result = take_text(&reading, text.data, error);
    }
    buf_free(&text);
    free(reading.functions);
    free(reading.stacks);
    pair_table_free(&reading.children);
    if (result != 0)
        count_profile_free(profile);
    return result;
}
