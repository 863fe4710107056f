/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_PATCH_LEAF_H
#define GASPIPE_TRACE_PATCH_LEAF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEAF_INSTRUCTIONS_MAX = 64 };

/*
 * Whether the function of these bytes is over soon after it is entered, whatever its arguments: it
 * calls nothing, has no loop, no system call and no string instruction, ends in no jump elsewhere,
 * and has at most LEAF_INSTRUCTIONS_MAX instructions. Reading the clock twice takes longer than
 * that.
 */
bool leaf_is_light(const uint8_t *bytes, size_t size);

#endif
