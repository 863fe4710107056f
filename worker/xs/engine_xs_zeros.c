/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/xs/engine_xs_memory.h"

/*
 * What stands in place of two functions that XS calls. The Makefile links the worker with
 * --wrap for each, so that XS itself stays as it was fetched.
 *
 * XS fills with zeros what the system has just given it as zeros: 32 MiB when a worker
 * starts, of which a vat uses five. Each page would be there from then on, and two thirds
 * of the time that a worker takes to start would go into that.
 */

void *__wrap_fxAllocateChunks(void *machine, int32_t size);
void *__real_fxAllocateChunks(void *machine, int32_t size);
void *__wrap_memset(void *bytes, int value, size_t size);
void *__real_memset(void *bytes, int value, size_t size);

/* What was added to the chunks just now, and was never written to; NULL: nothing. */
static void *fresh_chunks;

void *__wrap_fxAllocateChunks(void *machine, int32_t size)
{
    errno = 0; /* it stays so if the chunks are more than XS ever takes, by its own rule */
    fresh_chunks = __real_fxAllocateChunks(machine, size);
    if (fresh_chunks == NULL && errno != 0)
        engine_xs_memory_refuse(machine);
    return fresh_chunks;
}

/* XS's next call after that is the filling of all that was added. */
void *__wrap_memset(void *bytes, int value, size_t size)
{
    if (bytes != fresh_chunks)
        return __real_memset(bytes, value, size);
    fresh_chunks = NULL;
    return bytes;
}
