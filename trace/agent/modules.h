/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_MODULES_H
#define GASPIPE_TRACE_AGENT_MODULES_H

#include "trace/memory.h"

/*
 * Describes the program's file, and the libraries that head->libraries names and that stay loaded
 * as long as the program: those that it needs, not those of dlopen(3). For each it reserves
 * addresses for trampolines, near enough for a jump of 32 bits. The C library, the dynamic linker
 * and the agent are never traced, because the agent uses them.
 */
void modules_describe(struct trace_head *head);

#endif
