/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_BELL_H
#define GASPIPE_TRACE_AGENT_BELL_H

#include "trace/memory.h"

/*
 * Waiting for the tracer, at a bell of the shared memory (trace/memory.h):
 *
 *   loop: quiet = bell_silence(bell); if (it is there) leave; bell_wait(bell, quiet)
 *
 * As everything that runs within traced functions, without the C library.
 */

enum bell_end {
    BELL_RANG,   /* or something else woke the thread */
    BELL_SECOND, /* a second has passed, and it has not rung */
    BELL_ALONE,  /* there is no tracer any more */
};

/* From here on it is heard. Gives what bell_wait() is to be told. */
uint32_t bell_silence(_Atomic uint32_t *bell);

enum bell_end bell_wait(_Atomic uint32_t *bell, uint32_t quiet);

/* One thread at a time has the turn. */
void turn_take(void);
void turn_leave(void);

#endif
