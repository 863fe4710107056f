/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "trace/patch/trampoline.h"

/* In place of trampoline.c where no functions are traced, which trace_machine_check() refuses. */

void trampoline_write_thunks(uint8_t thunks[TRAMPOLINE_THUNKS], const struct trace_head *head)
{
    (void)thunks, (void)head;
    abort();
}

size_t trampoline_write(uint8_t *out, const struct trace_head *head, uint64_t offset,
                        unsigned number, bool values)
{
    (void)out, (void)head, (void)offset, (void)number, (void)values;
    abort();
}

void trampoline_switch_off(uint8_t *trampoline, size_t length)
{
    (void)trampoline, (void)length;
    abort();
}
