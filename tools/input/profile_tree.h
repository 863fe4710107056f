/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_INPUT_PROFILE_TREE_H
#define GASPIPE_TOOLS_INPUT_PROFILE_TREE_H

#include <jansson.h>

#include "base/error.h"
#include "slog/read/reader.h"

/*
 * Reads a profile (docs/profile-format.md), and hands its lines of kind "tree" on, each also as the
 * line that it stands on; both are borrowed. The other kinds of lines say nothing that a tree does
 * not. 0, or -1: ERROR_INPUT (file and line named) for what is no profile, ERROR_SYSTEM, or what
 * `on_tree` failed with.
 */
typedef int profile_tree_sink(void *context, const json_t *tree, const struct reader_line *line,
                              struct error *error);
int profile_tree_read(const char *path, profile_tree_sink *on_tree, void *context,
                      struct error *error);

#endif
