/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_MODULES_H
#define GASPIPE_TRACE_AGENT_MODULES_H

#include "trace/memory.h"

/*
 * Describes the files of the process's code that are to be traced, the program first and then the
 * libraries that head->libraries names, and keeps a range of addresses for the trampolines of
 * each, near enough for a jump of 32 bits. The C library, the dynamic linker and the agent are
 * never among them: the agent uses them.
 */
void modules_describe(struct trace_head *head);

#endif
