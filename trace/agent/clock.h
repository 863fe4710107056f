/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_CLOCK_H
#define GASPIPE_TRACE_AGENT_CLOCK_H

#include <stdint.h>

#include "trace/memory.h"

/* The clock of events, where it is not the time stamp counter; trampolines read that themselves. */

/* 0, or -1 with head->refusal: there is no such clock here. The calling thread has it then. */
int agent_clock_open(struct trace_head *head);

/* Other threads get it as they begin; without, it stands still for them. */
void agent_clock_thread_begins(void);
void agent_clock_thread_ends(void);

/* Between traced functions: no C library, no lock, no vector register. A count begins with 1. */
uint64_t agent_clock_read(void);
uint64_t agent_clock_tsc(void);

#endif
