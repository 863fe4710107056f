/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OUTPUT_TRACE_FUNCTIONS_H
#define GASPIPE_TOOLS_OUTPUT_TRACE_FUNCTIONS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* When deliveries were in which functions: the trees with spans of profiles of gaspipe trace
 * (docs/profile-format.md), kept as text until their delivery comes. All zeros: none. */
struct trace_functions {
    struct kept_tree {
        char *vat_id, *line; /* owned */
        int64_t delivery_num;
        size_t length, order;
    } * trees; /* owned; sorted when they are looked for */
    size_t count, capacity;
    int sorted;
};

/* Takes in a profile. -1 with ERROR_INPUT (file and line named) for what is none, or ERROR_SYSTEM.
 */
int trace_functions_add(struct trace_functions *functions, const char *path, struct error *error);
void trace_functions_free(struct trace_functions *functions);

/* The delivery's tree, whose shape was checked; of several the last. To be given back; NULL: there
 * is none, or no memory. */
json_t *trace_functions_find(struct trace_functions *functions, const char *vat_id,
                             int64_t delivery_num);

#endif
