/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_ENGINE_XS_MEMORY_H
#define GASPIPE_WORKER_XS_ENGINE_XS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Memory that the system refuses to XS. By itself XS would go on in another way than with
 * it: start without its first chunks and grow in other steps, throw an exception that a contract
 * can catch, let a regular expression fail to match. A heap would then depend on how much memory
 * the machine had. So the first refusal ends whatever XS is doing.
 */

/*
 * Whose memory is allocated from now on: a machine's, in a command that it can be made to give up
 * (xsNotEnoughMemoryExit), or nobody's (NULL).
 */
void engine_xs_memory_is_for(void *machine);

/* The system refused memory to the machine: it gives up. Does not return. */
_Noreturn void engine_xs_memory_refuse(void *machine);

/* Whether it ever did. An engine's own limit is not meant: that is the same on every machine. */
bool engine_xs_memory_was_refused(void);

/* The system refused so many bytes to malloc(): returns if no machine's command has to end. */
void engine_xs_memory_check(size_t size);

#endif
