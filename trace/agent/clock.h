/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_CLOCK_H
#define GASPIPE_TRACE_AGENT_CLOCK_H

#include <stdint.h>

#include "trace/memory.h"

/* The clock of events, where it is not the time stamp counter; trampolines read that themselves. */

/* Opens the clock for the calling thread. 0, or -1 with head->refusal. */
int agent_clock_open(struct trace_head *head);

/* For other threads; the clock of a thread that has not begun stands still. */
void agent_clock_thread_begins(void);
void agent_clock_thread_ends(void);

/* Do not use the C library, a lock or a vector register. A count starts at 1. */
uint64_t agent_clock_read(void);
uint64_t agent_clock_tsc(void);

#endif
