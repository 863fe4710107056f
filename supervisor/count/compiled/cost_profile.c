/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/compiled/cost_profile.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/number.h"
#include "supervisor/count/profile/profile_builder.h"

#define PROFILE_BYTES_MAX ((size_t)1 << 32)

/* While a profile is read. A process numbers its own functions and stacks, from 1. */
struct reading {
    struct profile_builder builder;
    const char *object;                       /* of the process at hand */
    struct profile_numbers functions, stacks; /* of the process */
    uint64_t cost, found;                     /* of the process, and the sum of its stacks */
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
    const struct count_profile *profile = reading->builder.profile;
    size_t i = 0;

    while (i < profile->function_count &&
           !is_function(&profile->functions[i], reading->object, name, source, line))
        i++;
    return i;
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

/* function NUMBER LINE NAME FILE */
static bool take_function(struct reading *reading, char *text)
{
    const char *at = text;
    uint64_t numbers[2];
    char *file;
    size_t index;

    if (!take_numbers(&at, numbers, 2) || numbers[0] != reading->functions.count + 1)
        return false;
    file = strchr(at, ' ');
    if (file == NULL)
        return false;
    *file++ = '\0';
    index = find_function(reading, at, file, fit_line(numbers[1]));
    if (index == reading->builder.profile->function_count &&
        !add_function(reading, at, file, fit_line(numbers[1])))
        return false;
    return profile_numbers_add(&reading->functions, index);
}

/* ---- stacks ---- */

/* stack NUMBER PARENT FUNCTION CALLS UNITS; what follows the last number is the line's end. */
static bool take_stack(struct reading *reading, const char *text)
{
    struct profile_stack *stacks;
    uint64_t numbers[4], units;
    size_t parent, stack;

    if (!take_numbers(&text, numbers, 4) || !number_take(&text, &units) || *text != '\0' ||
        numbers[0] != reading->stacks.count + 1 || numbers[1] >= numbers[0] || numbers[2] == 0 ||
        numbers[2] > reading->functions.count)
        return false;
    parent = numbers[1] == 0 ? 0 : reading->stacks.items[numbers[1] - 1];
    stack =
        profile_builder_child(&reading->builder, parent, reading->functions.items[numbers[2] - 1]);
    if (stack == 0)
        return false;
    stacks = reading->builder.profile->stacks;
    stacks[stack].self += units;
    stacks[stack].calls += numbers[3];
    reading->found += units;
    return profile_numbers_add(&reading->stacks, stack);
}

/* line FUNCTION LINE UNITS FILE */
static bool take_place(struct reading *reading, const char *text)
{
    struct profile_place *added;
    uint64_t numbers[3];

    if (!take_numbers(&text, numbers, 3) || numbers[0] == 0 ||
        numbers[0] > reading->functions.count)
        return false;
    added = profile_builder_add_place(&reading->builder);
    if (added == NULL)
        return false;
    *added = (struct profile_place){
        .function = reading->functions.items[numbers[0] - 1],
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
    static const char name[] = "[unprofiled]";
    size_t index;

    if (reading->object == NULL || reading->cost <= reading->found)
        return true;
    index = find_function(reading, name, "-", 0);
    return (index < reading->builder.profile->function_count ||
            add_function(reading, name, "-", 0)) &&
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
    reading->functions.count = reading->stacks.count = 0;
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
    struct count_profile *profile = reading->builder.profile;
    size_t number = 0;
    char *end;

    for (char *line = text; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        number++;
        if (!cost_profile_take_line(reading, line))
            return error_set(error, ERROR_INPUT,
                             "line %zu of the program's profile cannot be taken", number);
    }
    if (profile->place_count == 0)
        return error_set(
            error, ERROR_INPUT,
            "the program has no profile: compile it with gaspipe-cc --meter=--profile");
    if (!finish_process(reading))
        return error_memory(error, "the profile");
    merge_places(profile);
    return count_profile_sum(profile, error);
}

int cost_profile_read(struct count_profile *profile, const char *path, struct error *error)
{
    struct reading reading = {0};
    struct buf text = {0};
    int result = -1;

    *profile = (struct count_profile){.unit = "blockCost"};
    if (io_read_file(path, PROFILE_BYTES_MAX, &text, error) == 0) {
        if (buf_string(&text) == NULL || !profile_builder_start(&reading.builder, profile))
            error_memory(error, "the profile");
        else
            result = take_text(&reading, text.data, error);
    }
    buf_free(&text);
    free(reading.functions.items);
    free(reading.stacks.items);
    profile_builder_free(&reading.builder);
    if (result != 0)
        count_profile_free(profile);
    return result;
}
