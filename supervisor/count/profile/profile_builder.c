/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/profile/profile_builder.h"

#include "base/array.h"

bool profile_builder_start(struct profile_builder *builder, struct count_profile *profile)
{
    *builder = (struct profile_builder){.profile = profile};
    return profile_builder_add_stack(builder, (struct profile_stack){0});
}

struct profile_function *profile_builder_add_function(struct profile_builder *builder)
{
    struct count_profile *profile = builder->profile;
    struct profile_function *larger = array_reserve(profile->functions, &builder->function_room,
                                                    profile->function_count + 1, sizeof *larger);

    if (larger == NULL)
        return NULL;
    profile->functions = larger;
    larger[profile->function_count] = (struct profile_function){0};
    return &larger[profile->function_count++];
}

struct profile_place *profile_builder_add_place(struct profile_builder *builder)
{
    struct count_profile *profile = builder->profile;
    struct profile_place *larger = array_reserve(profile->places, &builder->place_room,
                                                 profile->place_count + 1, sizeof *larger);

    if (larger == NULL)
        return NULL;
    profile->places = larger;
    larger[profile->place_count] = (struct profile_place){0};
    return &larger[profile->place_count++];
}

bool profile_builder_add_stack(struct profile_builder *builder, struct profile_stack stack)
{
    struct count_profile *profile = builder->profile;
    struct profile_stack *larger = array_reserve(profile->stacks, &builder->stack_room,
                                                 profile->stack_count + 1, sizeof *larger);

    if (larger == NULL)
        return false;
    profile->stacks = larger;
    larger[profile->stack_count++] = stack;
    return true;
}

size_t profile_builder_child(struct profile_builder *builder, size_t parent, size_t function)
{
    struct pair *child = pair_table_find(&builder->children, parent, function);

    if (child == NULL)
        return 0;
    if (child->value == 0) {
        child->value = builder->profile->stack_count;
        if (!profile_builder_add_stack(
                builder, (struct profile_stack){.parent = parent, .function = function}))
            return 0;
    }
    return child->value;
}

void profile_builder_free(struct profile_builder *builder)
{
    pair_table_free(&builder->children);
}

bool profile_numbers_add(struct profile_numbers *numbers, size_t index)
{
    size_t *larger =
        array_reserve(numbers->items, &numbers->room, numbers->count + 1, sizeof *larger);

    if (larger == NULL)
        return false;
    numbers->items = larger;
    larger[numbers->count++] = index;
    return true;
}
