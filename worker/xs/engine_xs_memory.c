/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/engine_xs_memory.h"

#include <stdint.h>
#include <stdlib.h>

#include <xsnap.h>

static void *running; /* NULL: none */
static bool refused;

void engine_xs_memory_is_for(void *machine)
{
    running = machine;
}

void engine_xs_memory_refuse(void *machine)
{
    refused = true;
    fxAbort(machine, xsNotEnoughMemoryExit);
    abort(); /* not reached: it jumps */
}

bool engine_xs_memory_was_refused(void)
{
    return refused;
}

void engine_xs_memory_check(size_t size)
{
    /* No system has more than PTRDIFF_MAX: asking for it fails everywhere in the same way. */
    if (size > 0 && size <= PTRDIFF_MAX && running != NULL)
        engine_xs_memory_refuse(running);
}
