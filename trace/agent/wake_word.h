/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_WAKE_WORD_H
#define GASPIPE_TRACE_AGENT_WAKE_WORD_H

#include "trace/memory.h"

/*
 * Waiting for the tracer, at a wake word of the shared memory (trace/memory.h):
 *
 *   loop: before = wake_word_clear(word); if (it is there) leave; wake_word_wait(word, before)
 *
 * As everything that runs within traced functions, without the C library.
 */

enum wake_end {
    WAKE_CHANGED, /* or something else woke the thread */
    WAKE_SECOND,  /* a second has passed, and it is not set */
    WAKE_ALONE,   /* there is no tracer any more */
};

/* What the tracer does from here on ends the wait. Returns what wake_word_wait() needs. */
uint32_t wake_word_clear(_Atomic uint32_t *word);

enum wake_end wake_word_wait(_Atomic uint32_t *word, uint32_t before);

/* One thread at a time has the turn. */
void turn_take(void);
void turn_leave(void);

#endif
