/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_CODE_PROFILE_REGIONS_H
#define GASPIPE_COUNTER_QEMU_CODE_PROFILE_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/qemu/code/chain_tree.h"

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
