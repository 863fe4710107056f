/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_LANE_H
#define GASPIPE_TRACE_AGENT_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/memory.h"

/*
 * What trampolines do not do themselves: a thread's first event, a full chunk, frames that were
 * left without returning. All of it runs in the middle of traced functions, and on signals'
 * handlers: no C library, no lock, no vector register.
 */

/* Where the thread's next frame and next event go; trampolines use both. */
extern _Thread_local struct trace_frame *trace_top;
extern _Thread_local uint64_t *trace_event;

/* `base` is the mapped memory. `thread_began` is called when a thread has got its lane, with all
 * vector registers saved. */
void lanes_open(struct trace_head *base, void (*thread_began)(void));

/* Trampolines lie in here. */
void lanes_add_region(uint64_t begin, uint64_t end);

/* When a thread ends. */
void lanes_thread_ends(void);

/* This thread's stack of frames, and how many there are on it; NULL: it has no lane. */
char *lanes_frames(void);
uint64_t lanes_depth(void);

/* In a child process after fork(2): its one thread gets no lane if it has none yet. */
void lanes_leave_to_parent(void);

/*
 * A function is entered and the frame on top may be stale. *slot holds its return address. Takes
 * off what was unwound. False: this call is not traced.
 */
bool lanes_slow_entry(uint64_t *slot);

/* A function is left, and its frame is not on top: afterwards it is. */
void lanes_slow_exit(uint64_t *slot);

/* An event for which the chunk has no room. */
void lanes_slow_event(uint64_t event);

/* What the clock of events says. */
uint64_t lanes_clock(void);

/* The stubs through which trampolines call the four. */
void trace_stub_entry(void);
void trace_stub_exit(void);
void trace_stub_event(void);
void trace_stub_clock(void);

#endif
