/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_CODE_PROFILE_TEXT_H
#define GASPIPE_COUNTER_QEMU_CODE_PROFILE_TEXT_H

#include "counter/qemu/code/chain_tree.h"
#include "counter/qemu/guest/guest_files.h"

/* Appends what the tree has gathered to the file, as profile.h describes its lines. Says on stderr
 * what went wrong. */
void profile_text_append(const char *path, const struct chain_tree *tree,
                         const struct guest_files *files);

#endif
