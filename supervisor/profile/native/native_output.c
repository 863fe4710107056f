/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/native/native_output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"

/* ---- JSON ---- */

struct ordered {
    const struct profile_function *function;
    uint64_t calls;
};

static int compare_functions(const void *a, const void *b)
{
    const struct profile_function *x = ((const struct ordered *)a)->function;
    const struct profile_function *y = ((const struct ordered *)b)->function;
    int order = strcmp(x->object, y->object);

    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : (x > y) - (x < y);
}

/* Where a number stands in a node of a tree (docs/profile-format.md). */
enum { NODE_INSTRUCTIONS = 4, NODE_BLOCK_COST = 6 };

static bool is_of_instructions(const struct count_profile *profile)
{
    return strcmp(profile->unit, "instructions") == 0;
}

/* What there is of them is instructions or block cost. `total` of a function, NULL of a line. */
static void put_amounts(struct buf *lines, const struct count_profile *profile, uint64_t self,
                        const uint64_t *total)
{
    const bool counted = is_of_instructions(profile);

    profile_file_put_count(lines, "self", 0, false);
    if (total != NULL)
        profile_file_put_count(lines, "total", 0, false);
    profile_file_put_count(lines, "selfInstructions", (int64_t)self, counted);
    if (total != NULL)
        profile_file_put_count(lines, "totalInstructions", (int64_t)*total, counted);
    if (!counted)
        profile_file_put_count(lines, "selfBlockCost", (int64_t)self, true);
    if (!counted && total != NULL)
        profile_file_put_count(lines, "totalBlockCost", (int64_t)*total, true);
    buf_append_string(lines, "}\n");
}

static void put_function(struct buf *lines, const struct count_profile *profile,
                         const struct ordered *ordered, const struct profiled_delivery *delivery)
{
    const struct profile_function *function = ordered->function;

    profile_file_put_head(lines, "function", delivery);
    profile_file_put_text(lines, "function", function->name);
    profile_file_put_text(lines, "module", function->object);
    if (function->build_id != NULL)
        profile_file_put_text(lines, "buildId", function->build_id);
    profile_file_put_text(lines, "file", function->source);
    profile_file_put_count(lines, "line", function->line, function->source != NULL);
    if (function->inlined != NULL) {
        buf_append_string(lines, ",\"inlined\":");
        json_text_lines(lines, function->inlined);
    }
    profile_file_put_count(lines, "calls", (int64_t)ordered->calls, true);
    put_amounts(lines, profile, function->self, &function->total);
}

/* As functions are, then by file and line. */
static int compare_profile_places(const void *a, const void *b, void *functions_of)
{
    const struct profile_place *x = a, *y = b;
    const struct profile_function *const functions = functions_of;
    const struct ordered left = {.function = &functions[x->function]};
    const struct ordered right = {.function = &functions[y->function]};
    int order = x->function != y->function ? compare_functions(&left, &right) : 0;

    if (order == 0)
        order = strcmp(x->source != NULL ? x->source : "", y->source != NULL ? y->source : "");
    return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

static void put_place(struct buf *lines, const struct count_profile *profile,
                      const struct profile_place *place, const struct profiled_delivery *delivery)
{
    const struct profile_function *const function = &profile->functions[place->function];

    profile_file_put_head(lines, "line", delivery);
    profile_file_put_text(lines, "function", function->name);
    profile_file_put_text(lines, "module", function->object);
    profile_file_put_text(lines, "file", place->source);
    profile_file_put_count(lines, "line", place->line, place->source != NULL);
    if (place->inlined != NULL)
        profile_file_put_text(lines, "inlinedFunction", place->inlined);
    put_amounts(lines, profile, place->self, NULL);
}

static void put_places(struct buf *lines, const struct count_profile *profile,
                       const struct profiled_delivery *delivery)
{
    if (profile->place_count > 0) /* qsort_r(3) may not be given NULL */
        qsort_r(profile->places, profile->place_count, sizeof *profile->places,
                compare_profile_places, profile->functions);
    for (size_t i = 0; i < profile->place_count; i++)
        put_place(lines, profile, &profile->places[i], delivery);
}

static void put_node(struct buf *line, const struct profile_stack *stack, bool counted)
{
    const size_t count = counted ? NODE_INSTRUCTIONS + 1 : NODE_BLOCK_COST + 1;
    int64_t numbers[NODE_BLOCK_COST + 1] = {
        stack->parent > 0 ? (int64_t)stack->parent - 1 : PROFILE_NO_NUMBER,
        (int64_t)stack->function,
        (int64_t)stack->calls,
        PROFILE_NO_NUMBER,
        PROFILE_NO_NUMBER,
        PROFILE_NO_NUMBER,
        PROFILE_NO_NUMBER,
    };

    numbers[count - 1] = (int64_t)stack->self;
    profile_file_put_node(line, numbers, count);
}

/* The first stack stands for nobody, and is no node. */
static void put_tree(struct buf *line, const struct count_profile *profile,
                     const struct profiled_delivery *delivery)
{
    profile_file_put_head(line, "tree", delivery);
    buf_append_string(line, ",\"functions\":[");
    for (size_t i = 0; i < profile->function_count; i++) {
        if (i > 0)
            buf_append_byte(line, ',');
        profile_file_put_function(line, profile->functions[i].name, profile->functions[i].object,
                                  0);
    }
    buf_append_string(line, "],\"nodes\":[");
    for (size_t i = 1; i < profile->stack_count; i++) {
        const struct profile_stack *stack = &profile->stacks[i];

        if (i > 1)
            buf_append_byte(line, ',');
        put_node(line, stack, is_of_instructions(profile));
    }
    buf_append_string(line, "]}\n");
}

static int put_json(struct buf *lines, const struct count_profile *profile,
                    const struct profiled_delivery *delivery, struct error *error)
{
    struct ordered *ordered = calloc(profile->function_count + 1, sizeof *ordered);

    if (ordered == NULL)
        return error_memory(error, "a profile");
    for (size_t i = 0; i < profile->function_count; i++)
        ordered[i].function = &profile->functions[i];
    for (size_t i = 1; i < profile->stack_count; i++)
        ordered[profile->stacks[i].function].calls += profile->stacks[i].calls;
    qsort(ordered, profile->function_count, sizeof *ordered, compare_functions);
    for (size_t i = 0; i < profile->function_count; i++)
        put_function(lines, profile, &ordered[i], delivery);
    free(ordered);
    put_places(lines, profile, delivery);
    put_tree(lines, profile, delivery);
    return 0;
}

/* Instructions have DTrace's grave accent between module and function; block cost has another
 * sign, since a folded stack has no place for its unit. */
static void put_frames(struct buf *lines, const struct count_profile *profile, size_t index)
{
    const struct profile_stack *stack = &profile->stacks[index];
    const struct profile_function *function = &profile->functions[stack->function];

    if (stack->parent != 0)
        put_frames(lines, profile, stack->parent);
    buf_append_byte(lines, ';');
    profile_file_put_frame(lines, function->object);
    buf_append_byte(lines, is_of_instructions(profile) ? '`' : '!');
    profile_file_put_frame(lines, function->name);
}

static void put_folded(struct buf *lines, const struct count_profile *profile,
                       const struct profiled_delivery *delivery)
{
    for (size_t i = 1; i < profile->stack_count; i++) {
        if (profile->stacks[i].self == 0)
            continue;
        profile_file_put_frame(lines, delivery->vat);
        buf_append_byte(lines, ';');
        profile_file_put_frame(lines, delivery->method);
        put_frames(lines, profile, i);
        buf_printf(lines, " %" PRIu64 "\n", profile->stacks[i].self);
    }
}

int native_output_put(struct profile_file *file, const struct count_profile *profile,
                      const struct profiled_delivery *delivery, struct error *error)
{
    int result = 0;

    if (file->format == PROFILE_JSON)
        result = put_json(&file->gathered, profile, delivery, error);
    else
        put_folded(&file->gathered, profile, delivery);
    if (result == 0 && buf_failed(&file->gathered))
        return error_memory(error, "a profile");
    return result;
}
