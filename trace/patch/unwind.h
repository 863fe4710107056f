/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_PATCH_UNWIND_H
#define GASPIPE_TRACE_PATCH_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/memory.h"

/* A range of code that .eh_frame describes, and where a function may be entered: its return
 * address is on top of the stack there. */
struct unwind_start {
    uint64_t address, size;
};

/*
 * Reads the bytes of .eh_frame, which are loaded at `address`. Pieces that gcc has split off a
 * function, and jumps into, are left out unless they could be functions. *starts is to be freed.
 * 0, or -1 with ERROR_INPUT for what is no such table.
 */
int unwind_starts_read(const uint8_t *bytes, size_t length, uint64_t address,
                       struct unwind_start **starts, size_t *count, struct error *error);

enum { UNWIND_TABLE_SIZE = 512 };

/*
 * Writes an .eh_frame, for __register_frame(), by which C++ exceptions, pthread_cancel(3) and
 * backtrace(3) pass the trampolines in [begin, begin + size) of the process: a return address is
 * looked up in the shadow stacks. `zero` is the address of eight bytes that are 0. Returns its
 * length.
 */
size_t unwind_table_write(uint8_t out[UNWIND_TABLE_SIZE], const struct trace_head *head,
                          uint64_t begin, uint64_t size, uint64_t zero);

#endif
