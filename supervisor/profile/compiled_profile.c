/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/compiled_profile.h"

#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/number.h"

#define PROFILE_BYTES_MAX ((size_t)1 << 32)

/* Longer than any region and line. A line without an end is searched again with all that follows.
 */
#define REGION_BYTES_MAX ((size_t)1 << 28)
#define LINE_BYTES_MAX   ((size_t)1 << 20)

/* Chains are no deeper (DEPTH_MAX of meter/runtime/profile.c), by far. */
enum { STACK_DEPTH_MAX = 1024 };

/* While a profile is read. A process numbers its own functions and stacks, from 1. */
struct reading {
    struct profile *profile;
    void *named;                        /* tree of struct named, for tsearch(3) */
    const char *module;                 /* of the process at hand */
    struct pair_table functions, nodes; /* of the process: from a number to the index and 1 */
    uint64_t cost, found;               /* of the process, and the sum of its nodes */
};

/* "12 34 ": `count` numbers, each followed by a blank. */
static bool take_line_numbers(const char **at, uint64_t *numbers, size_t count)
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
    const char *module, *name, *file;
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
        order = strcmp(x->file, y->file);
    return order != 0 ? order : strcmp(x->module, y->module);
}

static bool add_compiled_function(struct reading *reading, const struct named *named)
{
    struct profile_texts *const texts = &reading->profile->texts;
    struct profile_function *const added = profile_add_function(reading->profile);
    const bool has_file = strcmp(named->file, "-") != 0;

    if (added == NULL)
        return false;
    *added = (struct profile_function){
        .module = profile_texts_copy(texts, named->module),
        .name = profile_texts_copy_name(texts, named->name),
        .file = has_file ? profile_texts_copy_name(texts, named->file) : NULL,
        .line = named->line,
    };
    return added->module != NULL && added->name != NULL && (added->file != NULL) == has_file;
}

/* Its index, also of one that is new; SIZE_MAX without memory. */
static size_t find_or_add_function(struct reading *reading, const char *name, const char *file,
                                   int line)
{
    struct named *wanted = malloc(sizeof *wanted), **found;

    if (wanted == NULL)
        return SIZE_MAX;
    *wanted = (struct named){.module = reading->module,
                             .name = name,
                             .file = file,
                             .line = line,
                             .index = reading->profile->function_count};
    found = tsearch(wanted, &reading->named, compare_named);
    if (found == NULL || *found != wanted) {
        free(wanted);
        return found == NULL ? SIZE_MAX : (*found)->index;
    }
    return add_compiled_function(reading, wanted) ? wanted->index : SIZE_MAX;
}

/* Lets a number of the process stand for an index. */
static bool note_index(struct pair_table *numbers, uint64_t number, size_t index)
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
    char *name, *file;
    size_t index;

    if (!take_line_numbers(&at, numbers, 2))
        return false;
    name = text + (at - text); /* where `at` points, to be changed */
    file = strchr(name, ' ');
    if (file == NULL)
        return false;
    *file++ = '\0';
    index = find_or_add_function(reading, name, file, fit_line(numbers[1]));
    return index != SIZE_MAX && note_index(&reading->functions, numbers[0], index);
}

/* ---- nodes and lines ---- */

static bool is_too_deep(const struct profile *profile, size_t node)
{
    int depth = 0;

    for (; node != 0 && depth < STACK_DEPTH_MAX; node = profile->nodes[node].caller)
        depth++;
    return node != 0;
}

/* stack NUMBER PARENT FUNCTION CALLS UNITS; what follows the last number is the line's end. */
static bool take_stack(struct reading *reading, const char *text)
{
    struct profile_node *nodes;
    uint64_t numbers[4], units, caller, function;
    size_t node;

    if (!take_line_numbers(&text, numbers, 4) || !number_take(&text, &units) || *text != '\0')
        return false;
    caller = numbers[1] == 0 ? 1 : pair_table_value(&reading->nodes, numbers[1], 0);
    function = pair_table_value(&reading->functions, numbers[2], 0);
    if (caller == 0 || function == 0 || is_too_deep(reading->profile, caller - 1) ||
        numbers[3] > INT64_MAX || units > (uint64_t)INT64_MAX - reading->found)
        return false;
    node = profile_child(reading->profile, caller - 1, function - 1);
    if (node == 0 || !note_index(&reading->nodes, numbers[0], node))
        return false;
    nodes = reading->profile->nodes;
    nodes[node].self.of[0] = saturate_add(nodes[node].self.of[0], (int64_t)units);
    nodes[node].calls = saturate_add(nodes[node].calls, (int64_t)numbers[3]);
    reading->found += units;
    return true;
}

/* line FUNCTION LINE UNITS FILE */
static bool take_line_record(struct reading *reading, const char *text)
{
    struct profile_line *added;
    uint64_t numbers[3], function;

    if (!take_line_numbers(&text, numbers, 3) || numbers[2] > INT64_MAX)
        return false;
    function = pair_table_value(&reading->functions, numbers[0], 0);
    if (function == 0)
        return false;
    added = profile_add_line(reading->profile);
    if (added == NULL)
        return false;
    added->function = (uint32_t)function - 1;
    added->file = profile_texts_copy_name(&reading->profile->texts,
                                          strcmp(text, "-") != 0 ? text : "[unknown]");
    added->line = fit_line(numbers[1]);
    added->self.of[0] = (int64_t)numbers[2];
    return added->file != NULL;
}

/* ---- all of it ---- */

/* Adds the process's cost in code that was compiled without a profile. */
static bool finish_process(struct reading *reading)
{
    size_t index, node;

    if (reading->module == NULL || reading->cost <= reading->found)
        return true;
    index = find_or_add_function(reading, "[unprofiled]", "-", 0);
    node = index != SIZE_MAX ? profile_add_node(reading->profile, 0, index) : 0;
    if (node != 0)
        reading->profile->nodes[node].self.of[0] = (int64_t)(reading->cost - reading->found);
    return node != 0;
}

/* process COST PROGRAM */
static bool take_process(struct reading *reading, const char *text)
{
    if (!finish_process(reading) || !take_line_numbers(&text, &reading->cost, 1) ||
        reading->cost > INT64_MAX || *text == '\0')
        return false;
    reading->module = text;
    pair_table_free(&reading->functions);
    pair_table_free(&reading->nodes);
    reading->found = 0;
    return true;
}

static bool take_profile_line(struct reading *reading, char *line)
{
    if (strncmp(line, "process ", 8) == 0)
        return take_process(reading, line + 8);
    if (reading->module == NULL)
        return false;
    if (strncmp(line, "function ", 9) == 0)
        return take_function(reading, line + 9);
    if (strncmp(line, "stack ", 6) == 0)
        return take_stack(reading, line + 6);
    return strncmp(line, "line ", 5) == 0 && take_line_record(reading, line + 5);
}

static int compare_source_lines(const void *a, const void *b)
{
    const struct profile_line *x = a, *y = b;
    int order;

    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    order = strcmp(x->file, y->file);
    return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

/* Equal lines of several processes, and of one function's blocks, become one. */
static void merge_lines(struct profile *profile)
{
    size_t merged = 0;

    if (profile->line_count == 0) /* qsort(3) may not be given NULL */
        return;
    qsort(profile->lines, profile->line_count, sizeof *profile->lines, compare_source_lines);
    for (size_t i = 0; i < profile->line_count; i++) {
        struct profile_line *const last = merged > 0 ? &profile->lines[merged - 1] : NULL;

        if (last != NULL && compare_source_lines(last, &profile->lines[i]) == 0)
            profile_cost_add(&last->self, &profile->lines[i].self);
        else
            profile->lines[merged++] = profile->lines[i];
    }
    profile->line_count = merged;
}

/* Ends the lines of the text. */
static int take_profile_lines(struct reading *reading, char *text, struct error *error)
{
    size_t number = 0;
    char *end;

    for (char *line = text; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        number++;
        if (!take_profile_line(reading, line))
            return error_set(error, ERROR_INPUT, "line %zu of the program's profile is invalid",
                             number);
    }
    if (!finish_process(reading))
        return error_memory(error, "the profile");
    merge_lines(reading->profile);
    return profile_sum(reading->profile, error);
}

/* The text may be empty. */
static int take_profile(struct profile *profile, char *text, struct error *error)
{
    struct reading reading = {.profile = profile};
    const int result = profile_init(profile, PROFILE_BLOCK_COST)
                           ? take_profile_lines(&reading, text, error)
                           : error_memory(error, "the profile");

    tdestroy(reading.named, free);
    pair_table_free(&reading.functions);
    pair_table_free(&reading.nodes);
    return result;
}

int compiled_profile_read(struct profile *profile, const char *path, struct error *error)
{
    struct buf text = {0};
    int result = -1;

    *profile = (struct profile){0};
    if (io_read_file(path, PROFILE_BYTES_MAX, &text, error) == 0) {
        if (buf_string(&text) == NULL)
            error_memory(error, "the profile");
        else
            result = take_profile(profile, text.data, error);
    }
    buf_free(&text);
    return result != 0 || profile->line_count > 0
               ? result
               : error_set(error, ERROR_INPUT,
                           "the program has no profile: compile it with gaspipe-cc "
                           "--meter=--profile");
}

/* ---- regions of a worker ---- */

static int not_a_profile(struct error *error)
{
    return error_set(error, ERROR_INPUT, "invalid profile from a worker's meter");
}

/* region BEGAN ENDED COST PID PROGRAM; *rest is PROGRAM and what follows. */
static bool take_region_head(const char *text, uint64_t numbers[4], const char **rest)
{
    static const char word[] = "region ";

    if (strncmp(text, word, sizeof word - 1) != 0)
        return false;
    text += sizeof word - 1;
    for (int i = 0; i < 4; i++)
        if (!number_take(&text, &numbers[i]) || *text++ != ' ' || numbers[i] > INT64_MAX)
            return false;
    *rest = text;
    return numbers[3] > 0 && numbers[3] <= INT32_MAX;
}

static int add_region(struct cost_stream *stream, const char *text, struct error *error)
{
    struct cost_region *region;
    uint64_t numbers[4];
    const char *rest;

    if (!take_region_head(text, numbers, &rest))
        return not_a_profile(error);
    region = calloc(1, sizeof *region);
    if (region == NULL)
        return error_memory(error, "a profile");
    region->began = (int64_t)numbers[0];
    region->ended = (int64_t)numbers[1];
    region->cost = numbers[2];
    stream->process = (pid_t)numbers[3];
    buf_printf(&region->text, "process %" PRIu64 " %s", region->cost, rest);
    if (stream->regions == NULL)
        stream->end = &stream->regions;
    *stream->end = region;
    stream->end = &region->next;
    return buf_string(&region->text) != NULL ? 0 : error_memory(error, "a profile");
}

/* The end of the first region; *last: the beginning of its last line. 0: it is not whole yet. */
static size_t end_of_region(struct cost_stream *stream, size_t *last)
{
    const char *line, *end;

    while ((end = memchr(stream->bytes.data + stream->looked, '\n',
                         stream->bytes.length - stream->looked)) != NULL) {
        line = stream->bytes.data + stream->looked;
        *last = stream->looked;
        stream->looked = (size_t)(end + 1 - stream->bytes.data);
        if (end - line == 3 && memcmp(line, "end", 3) == 0)
            return stream->looked;
    }
    return 0;
}

int cost_stream_feed(struct cost_stream *stream, const void *bytes, size_t length,
                     struct error *error)
{
    size_t last, end;

    buf_append(&stream->bytes, bytes, length);
    if (buf_failed(&stream->bytes))
        return error_memory(error, "a profile");
    while ((end = end_of_region(stream, &last)) > 0) {
        stream->bytes.data[last] = '\0';
        if (strlen(stream->bytes.data) != last)
            return not_a_profile(error);
        if (add_region(stream, stream->bytes.data, error) != 0)
            return -1;
        buf_consume(&stream->bytes, end);
        stream->looked = 0;
    }
    return stream->bytes.length <= REGION_BYTES_MAX &&
                   stream->bytes.length - stream->looked <= LINE_BYTES_MAX
               ? 0
               : not_a_profile(error);
}

int cost_stream_profile(struct profile *profile, struct cost_region *region, struct error *error)
{
    uint64_t sum = 0;

    if (take_profile(profile, region->text.data, error) != 0)
        return -1;
    for (size_t i = 1; i < profile->node_count; i++)
        sum += (uint64_t)profile->nodes[i].self.of[0];
    return sum == region->cost ? 0 : not_a_profile(error);
}

void cost_stream_forget(struct cost_stream *stream, const struct cost_region *upto)
{
    bool more = true;

    while (more && stream->regions != NULL) {
        struct cost_region *region = stream->regions;

        more = region != upto;
        stream->regions = region->next;
        buf_free(&region->text);
        free(region);
    }
}

void cost_stream_free(struct cost_stream *stream)
{
    cost_stream_forget(stream, NULL);
    buf_free(&stream->bytes);
    *stream = (struct cost_stream){0};
}
