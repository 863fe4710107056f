/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_INPUT_PROFILE_TREE_H
#define GASPIPE_TOOLS_INPUT_PROFILE_TREE_H

#include <jansson.h>
#include <stdbool.h>

/* Whether a line of a profile of kind "tree" has the shape that docs/profile-format.md says: all
 * indices are in range, and a node comes after its caller. */
bool profile_tree_is(const json_t *tree);

#endif
