/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_PROFILE_PROFILE_BUILDER_H
#define GASPIPE_SUPERVISOR_COUNT_PROFILE_PROFILE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>

#include "counter/pair_table.h"
#include "supervisor/count/profile/count_profile.h"

/*
 * Builds a profile while a file is read. Items of the profile are named by their index, since
 * adding one may move the others. A function below that returns false or NULL is out of memory;
 * what was built so far is freed with the profile.
 */
struct profile_builder {
    struct count_profile *profile; /* the caller's */
    size_t function_room, stack_room, place_room;
    struct pair_table children; /* from (stack, function) to stack */
};

/* The first stack, which stands for nobody. `profile` has no items yet. */
bool profile_builder_start(struct profile_builder *builder, struct count_profile *profile);

/* Another function or place at the end of the profile's, all zeros. */
struct profile_function *profile_builder_add_function(struct profile_builder *builder);
struct profile_place *profile_builder_add_place(struct profile_builder *builder);

bool profile_builder_add_stack(struct profile_builder *builder, struct profile_stack stack);

/* The index of the stack of `function` as `parent` calls it, which is added if there is none;
 * 0 without memory. */
size_t profile_builder_child(struct profile_builder *builder, size_t parent, size_t function);

/* Not the profile. A builder that is all zeros may be freed. */
void profile_builder_free(struct profile_builder *builder);

/* A process's own numbers, which come in order: from number to index. Free `items`. */
struct profile_numbers {
    size_t *items;
    size_t count, room;
};

bool profile_numbers_add(struct profile_numbers *numbers, size_t index);

#endif
