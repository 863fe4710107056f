/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_MEMORY_H
#define GASPIPE_WORKER_XS_XS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * XS's memory must not depend on the machine. If the system refuses memory, XS continues
 * differently: it starts without its first chunks, grows in other steps, throws an exception
 * that a contract can catch, or makes a regular expression fail to match. So the first
 * refusal ends the command.
 */

/* Memory is for a command of this machine, which a refusal ends (xsNotEnoughMemoryExit); NULL:
 * for no command. */
void xs_memory_is_for(void *machine);

/* Ends the machine's command because the system refused memory. Does not return. */
_Noreturn void xs_memory_refuse(void *machine);

/* Returns true if the system refused memory. XS's own limit, the same everywhere, does not
 * count. */
bool xs_memory_was_refused(void);

/*
 * Requests huge pages for an untouched part of the heap: all slots, and a snapshot's chunks,
 * which each garbage collection reads. Later chunks are used once between two collections;
 * small pages are then zeroed when needed, and still in the cache.
 */
void xs_memory_use_huge_pages(void *bytes, size_t size);

#endif
