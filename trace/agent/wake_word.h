/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_AGENT_WAKE_WORD_H
#define GASPIPE_TRACE_AGENT_WAKE_WORD_H

#include "trace/memory.h"

/*
 * Waits for the tracer at a wake word (trace/memory.h), without the C library:
 *
 *   loop: before = wake_word_clear(word); if (the condition holds) leave; wake_word_wait(word,
 * before)
 */

enum wake_end {
    WAKE_CHANGED, /* the word was set, or something else woke the thread */
    WAKE_SECOND,  /* a second has passed, and the word is not set */
    WAKE_ALONE,   /* the tracer has ended */
};

/* The tracer's later actions end the wait. Returns the word for wake_word_wait(). */
uint32_t wake_word_clear(_Atomic uint32_t *word);

enum wake_end wake_word_wait(_Atomic uint32_t *word, uint32_t before);

/* One thread at a time has the turn. */
void turn_take(void);
void turn_leave(void);

#endif
