/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_PATCH_TRAMPOLINE_H
#define GASPIPE_TRACE_PATCH_TRAMPOLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/memory.h"

/*
 * A trampoline writes the event of an entry, calls the function's body, writes the event of its
 * exit, and returns. Meanwhile the return address is on the shadow stack, so that the body finds
 * its arguments in place, and calls and returns stay paired for the CPU's prediction.
 *
 * It preserves every register, because gcc's IPA-RA relies on registers that a function does not
 * use, even those that the ABI would let it change.
 */
enum {
    TRAMPOLINE_THUNKS = 96,    /* bytes at the region's beginning: jumps to the agent */
    TRAMPOLINE_ALIGNMENT = 32, /* bytes */
    TRAMPOLINE_SIZE = 512,     /* bytes at most, without the body */
};

/* Writes a region's thunks. */
void trampoline_write_thunks(uint8_t thunks[TRAMPOLINE_THUNKS], const struct trace_head *head);

/* Writes a trampoline for the function with this number, `offset` bytes after the region's
 * beginning. `values`: it records arguments and the result. Returns its length; the body follows.
 */
size_t trampoline_write(uint8_t *out, const struct trace_head *head, uint64_t offset,
                        unsigned number, bool values);

/* Makes a trampoline of this length jump straight to the body, while it may be executed. Calls that
 * have been entered still write their exits. */
void trampoline_switch_off(uint8_t *trampoline, size_t length);

#endif
