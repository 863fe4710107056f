/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUNTIME_CALLEE_H
#define GASPIPE_SUPERVISOR_RUNTIME_CALLEE_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * XS says that something is no function, and names the function that called it. What was called
 * stands in the line of the source.
 *
 * Appends what the line calls, such as "Date.now", or "Date.now or f" where it calls several
 * things. False, with nothing appended: the problem is another one, or the line calls nothing
 * that has a name. NULL is allowed for both texts.
 */
bool callee_find(const char *problem, const char *line, struct buf *callee);

#endif
