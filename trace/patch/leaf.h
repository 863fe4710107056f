/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_PATCH_LEAF_H
#define GASPIPE_TRACE_PATCH_LEAF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEAF_INSTRUCTIONS_MAX = 64 };

/*
 * Whether the function of these bytes returns soon after it is entered: on each way to where it
 * returns, or jumps to another function, it calls nothing, has no loop, no system call and no
 * string instruction, and at most LEAF_INSTRUCTIONS_MAX instructions. It may call what ends it for
 * good, such as XS's fxAbort(). Reading the clock twice takes about as long as that.
 */
bool leaf_is_light(const uint8_t *bytes, size_t size);

#endif
