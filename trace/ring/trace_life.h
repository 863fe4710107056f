/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_RING_TRACE_LIFE_H
#define GASPIPE_TRACE_RING_TRACE_LIFE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Has the kernel ring bells (trace/memory.h) when this thread ends, in whatever way: those who wait
 * for it learn of it at once, and need no connection to it but the memory.
 *
 * The kernel follows a list, which must not lie in memory that the traced process can change. So
 * TRACE_LIFE_SIZE bytes in front of memory with bells are for the list, private and zero; a bell
 * lies within the first TRACE_LIFE_SIZE bytes, at a multiple of eight.
 */
enum { TRACE_LIFE_SIZE = 256 << 10 };

/* From now on this thread's end rings the bell, or what `memory` has no more: both for the same
 * thread, which has no robust mutexes of the C library. */
void trace_life_add(uint8_t *memory, size_t bell);
void trace_life_remove(uint8_t *memory, size_t bell);

/* The id of this thread. */
uint32_t trace_life_thread(void);

#endif
