/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/native/native_profile.h"

#include <stdlib.h>
#include <string.h>

#include "counter/pair_table.h"
#include "supervisor/count/profile/profile_builder.h"

/* A profile in the making. */
struct making {
    struct region_stream *stream;
    struct native_functions *functions;
    struct profile_builder builder;
    struct pair_table local;  /* from a function's number to its index in the profile and 1 */
    struct pair_table stacks; /* from a chain to its stack */
    struct pair_table places; /* from a line's number to its place in the profile and 1 */
};

/* ---- functions ---- */

/* Its number; SIZE_MAX without memory. A call returns behind itself, where another function may
 * begin. */
static size_t number_of(const struct making *making, struct region_place *place, bool is_call)
{
    const char *path = place->file == REGION_NO_FILE ? NULL : making->stream->files[place->file];
    uint64_t within;
    size_t number;

    if (place->function > 0)
        return place->function - 1;
    number = native_functions_find(making->functions, path,
                                   is_call && place->offset > 0 ? place->offset - 1 : place->offset,
                                   &within);
    if (number == SIZE_MAX)
        return SIZE_MAX;
    place->function = (uint32_t)number + 1;
    place->begins_function = within == 0;
    return number;
}

static bool copy_function(struct making *making, size_t number)
{
    const struct native_function *of = &making->functions->items[number];
    struct profile_function *copy = profile_builder_add_function(&making->builder);

    if (copy == NULL)
        return false;
    copy->object = strdup(of->object);
    copy->name = strdup(of->name);
    copy->source = of->source != NULL ? strdup(of->source) : NULL;
    copy->line = of->line;
    copy->build_id = of->build_id;
    copy->inlined = of->inlined;
    return copy->object != NULL && copy->name != NULL &&
           (of->source == NULL) == (copy->source == NULL);
}

/* Its index in the profile; SIZE_MAX without memory. */
static size_t function_of(struct making *making, struct region_place *place, bool is_call)
{
    const size_t number = number_of(making, place, is_call);
    struct pair *local = number != SIZE_MAX ? pair_table_find(&making->local, number, 0) : NULL;

    if (local == NULL)
        return SIZE_MAX;
    if (local->value == 0) {
        if (!copy_function(making, number))
            return SIZE_MAX;
        local->value = making->builder.profile->function_count;
    }
    return local->value - 1;
}

/* ---- stacks ---- */

/* The stack of `place` as `parent` calls it; 0 without memory. */
static size_t stack_within(struct making *making, size_t parent, struct region_place *place,
                           bool is_call)
{
    const size_t function = function_of(making, place, is_call);

    return function == SIZE_MAX ? 0 : profile_builder_child(&making->builder, parent, function);
}

/* That of nobody is 0; SIZE_MAX without memory. As deep as the stream lets chains be. */
static size_t stack_of_chain(struct making *making, uint32_t chain)
{
    struct region_place *call;
    struct pair *known;
    size_t stack;

    if (chain == 0)
        return 0;
    known = pair_table_find(&making->stacks, chain, 0);
    if (known == NULL)
        return SIZE_MAX;
    if (known->value != 0)
        return known->value;
    call = &making->stream->chains.items[chain];
    stack = stack_of_chain(making, call->caller);
    if (stack == SIZE_MAX || (stack = stack_within(making, stack, call, true)) == 0)
        return SIZE_MAX;
    known = pair_table_find(&making->stacks, chain, 0); /* it may have moved */
    known->value = stack;
    return stack;
}

/* ---- lines ---- */

/* NULL without memory. */
static struct profile_place *place_of(struct making *making, uint32_t number)
{
    const struct native_line *const line = &making->functions->lines.items[number];
    struct pair *const known = pair_table_find(&making->places, number, 0);
    struct profile_place *place;

    if (known == NULL)
        return NULL;
    if (known->value != 0)
        return &making->builder.profile->places[known->value - 1];
    place = profile_builder_add_place(&making->builder);
    if (place == NULL)
        return NULL;
    known->value = making->builder.profile->place_count;
    place->function = pair_table_find(&making->local, line->function, 0)->value - 1;
    place->source = line->source != NULL ? strdup(line->source) : NULL;
    place->line = line->line;
    place->inlined = line->inlined;
    return (line->source == NULL) == (place->source == NULL) ? place : NULL;
}

static bool find_runs(struct making *making, struct region_place *place)
{
    const char *const path =
        place->file == REGION_NO_FILE ? NULL : making->stream->files[place->file];

    return place->run_count > 0 ||
           native_functions_lines(making->functions, path, place->offset,
                                  place->length > 0 ? place->length : 1, place->function - 1,
                                  &place->first_run, &place->run_count);
}

/* A stretch executes all of its instructions; what is over where it was left is the first ones'. */
static bool add_lines(struct making *making, struct region_place *place, uint64_t instructions)
{
    const uint64_t length = place->length > 0 ? place->length : 1;
    const uint64_t whole = instructions / length;
    uint64_t over = instructions % length;

    if (!find_runs(making, place))
        return false;
    for (uint32_t i = 0; i < place->run_count; i++) {
        const struct native_run run = making->functions->lines.runs[place->first_run + i];
        const uint64_t more = over < run.count ? over : run.count;
        struct profile_place *const line = place_of(making, run.line);

        if (line == NULL)
            return false;
        line->self += whole * run.count + more;
        over -= more;
    }
    return true;
}

static bool add_cell(struct making *making, const struct profile_stream_cell *cell)
{
    struct region_place *place = &making->stream->stretches.items[cell->place];
    size_t stack = stack_of_chain(making, cell->chain);

    if (stack == SIZE_MAX || (stack = stack_within(making, stack, place, false)) == 0)
        return false;
    making->builder.profile->stacks[stack].self += cell->instructions;
    if (place->begins_function)
        making->builder.profile->stacks[stack].calls +=
            (cell->instructions + place->length - 1) / place->length;
    return add_lines(making, place, cell->instructions);
}

static bool add_cells(struct making *making, const struct region *region)
{
    for (size_t i = 0; i < region->cell_count; i++)
        if (!add_cell(making, &region->cells[i]))
            return false;
    return true;
}

int native_profile_make(struct count_profile *profile, struct region_stream *stream,
                        const struct region *region, struct native_functions *functions,
                        struct error *error)
{
    struct making making = {.stream = stream, .functions = functions};
    int result = 0;

    *profile = (struct count_profile){.unit = "instructions"};
    if (!profile_builder_start(&making.builder, profile) || !add_cells(&making, region))
        result = error_memory(error, "a profile");
    if (result == 0)
        result = count_profile_sum(profile, error);
    profile_builder_free(&making.builder);
    pair_table_free(&making.local);
    pair_table_free(&making.stacks);
    pair_table_free(&making.places);
    if (result != 0)
        count_profile_free(profile);
    return result;
}
