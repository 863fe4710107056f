/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_CODE_PROFILE_WRITE_H
#define GASPIPE_COUNTER_QEMU_CODE_PROFILE_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/qemu/code/chain_tree.h"
#include "counter/qemu/guest/address_space.h"

/* Appends what the tree has gathered to the file, as profile.h describes its lines. Says on stderr
 * what went wrong. */
void profile_text_append(const char *path, const struct chain_tree *tree,
                         const struct guest_files *files);

/* Writes a profile of each region as counter/profile_stream.h has it. */

/* To a copy of that descriptor, which is closed. False: it is not open. */
bool profile_regions_open(int fd);

/* Looks which files are mapped; where it may not, those of before stay. */
void profile_regions_mapped(void);

/* What the tree has gathered is a region's. It is written to the end, or nothing more is: a
 * program does not fail because nobody listens. */
void profile_regions_write(const struct chain_tree *tree, int64_t began, int64_t ended,
                           uint64_t instructions);

#endif
