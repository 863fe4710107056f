/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_LANE_H
#define GASPIPE_TRACE_AGENT_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/memory.h"

/*
 * The rare cases of trampolines: a thread's first event, a full chunk, frames that were left
 * without returning. All of it runs within traced functions and in signal handlers: it may not use
 * the C library, a lock or a vector register.
 */

/* The places of the thread's next frame and next event; trampolines use both. */
extern _Thread_local struct trace_frame *trace_top;
extern _Thread_local uint64_t *trace_event;

/* Not 0 while the thread calls the C library on behalf of the agent. */
extern _Thread_local int agent_busy;

/* `base` is the mapped memory. `thread_began` is called when a thread gets its lane, and may change
 * vector registers. */
void lanes_open(struct trace_head *base, void (*thread_began)(void));

/* Adds a range of addresses with trampolines. */
void lanes_add_region(uint64_t begin, uint64_t end);

/* When a thread ends. */
void lanes_thread_ends(void);

/* This thread's shadow stack, and the number of its frames; NULL: it has no lane. */
char *lanes_frames(void);
uint64_t lanes_depth(void);

/*
 * Ends the trace for this thread: the calls in progress get their return addresses back, and return
 * without the agent. Only while no other thread runs, and this one is in no trampoline. It uses
 * only system calls.
 */
void lanes_leave_thread(void);

/* The same for all that is left, when each thread has left. */
void lanes_leave(void);

/* In a child process: a thread without a lane gets none. */
void lanes_leave_to_parent(void);

/* A function was entered, and the frame on top may be stale. *slot holds its return address. Takes
 * unwound frames off. False: the call is not traced. */
bool lanes_slow_entry(uint64_t *slot);

/* A function is left, and its frame is not on top: afterwards it is. */
void lanes_slow_exit(uint64_t *slot);

/* Writes an event for which the chunk has no space. */
void lanes_slow_event(uint64_t event);

/* The time of an event now. */
uint64_t lanes_clock(void);

/* Writes the arguments or the result of the function that is entered or left, and returns the time
 * of its event. `saved` is what trace_stub_values saved. */
uint64_t lanes_values(const uint64_t *saved);

/* Trampolines call the five functions through these stubs. */
void trace_stub_entry(void);
void trace_stub_exit(void);
void trace_stub_event(void);
void trace_stub_clock(void);
void trace_stub_values(void);

#endif
