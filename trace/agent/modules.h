/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_MODULES_H
#define GASPIPE_TRACE_AGENT_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/memory.h"

/*
 * Describes the program's file, and the libraries that head->libraries names and that stay loaded
 * as long as the program: those that it needs, not those of dlopen(3). For each it reserves
 * addresses for trampolines, near enough for a jump of 32 bits. The C library, the dynamic linker
 * and the agent are never traced, because the agent uses them.
 */
void modules_describe(struct trace_head *head);

/*
 * Regions outlast a trace, because libgcc knows their unwind tables, and the next trace uses them
 * again. True, once, for a region that is not known to libgcc yet.
 */
bool modules_register(uint64_t region);

/* All regions are new, and libgcc does not know them. */
void modules_forget(void);

#endif
