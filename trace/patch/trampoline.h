/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_PATCH_TRAMPOLINE_H
#define GASPIPE_TRACE_PATCH_TRAMPOLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/memory.h"

/*
 * A trampoline writes the event of an entry, calls the function's body, writes the event of its
 * exit, and returns. The return address is on the shadow stack meanwhile, so that the body sees
 * its stack as it would without; calls and returns stay paired for the processor.
 *
 * Every register is kept: gcc's IPA-RA lets callers rely on registers that a function does not
 * use, even where the ABI would let it change them.
 */
enum {
    TRAMPOLINE_THUNKS = 64,    /* bytes at the region's beginning: the ways to the agent */
    TRAMPOLINE_ALIGNMENT = 32, /* of trampolines */
    TRAMPOLINE_SIZE = 512,     /* bytes at most, in front of the body */
};

/* Writes the thunks, with which a region begins. */
void trampoline_write_thunks(uint8_t thunks[TRAMPOLINE_THUNKS], const struct trace_head *head);

/*
 * Writes a trampoline for the function with this number. The region begins at `region` in the
 * process, and the trampoline `offset` bytes behind that. Returns the trampoline's length: the
 * body follows at once.
 */
size_t trampoline_write(uint8_t *out, const struct trace_head *head, uint64_t offset,
                        unsigned number);

/* Has a trampoline of this length go straight to the body: calls that have been entered are left as
 * they would have been. Safe while it is executed. */
void trampoline_switch_off(uint8_t *trampoline, size_t length);

#endif
