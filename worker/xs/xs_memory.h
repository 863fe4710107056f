/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_MEMORY_H
#define GASPIPE_WORKER_XS_XS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * XS's memory, where the system decides what a heap looks like. If the system refuses memory, XS
 * continues differently: it starts without its first chunks, grows in other steps, throws an
 * exception that a contract can catch, or lets a regular expression fail to match. A heap would
 * then depend on the machine. So the first refusal ends whatever XS is doing.
 */

/* Memory is allocated for a command of this machine, which a refusal ends
 * (xsNotEnoughMemoryExit); NULL: for no command. */
void xs_memory_is_for(void *machine);

/* The system refused memory to the machine: its command ends. Does not return. */
_Noreturn void xs_memory_refuse(void *machine);

/* Returns true if the system ever refused memory; XS's own limit, the same everywhere, is not
 * meant. */
bool xs_memory_was_refused(void);

/*
 * Asks for huge pages for a part of the heap that was not written to yet: all slots, and the chunks
 * of a snapshot, as each garbage collection goes through these. Later chunks are used once between
 * two collections: small pages are zeroed when needed, and then in the cache.
 */
void xs_memory_use_huge_pages(void *bytes, size_t size);

#endif
