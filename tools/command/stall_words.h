/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_COMMAND_STALL_WORDS_H
#define GASPIPE_TOOLS_COMMAND_STALL_WORDS_H

#include "tools/stats/outliers.h"

/* The least time that a stall lost, unless another is given: nanoseconds. */
enum { STALL_LEAST = 1000 * 1000 };

/* Returns the side that was late and how: "pipe: request late at the kernel". */
const char *stall_words(const struct outlier *outlier);

#endif
