/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_PATCH_UNWIND_H
#define GASPIPE_TRACE_PATCH_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/memory.h"

/* A range of code in .eh_frame that begins like a function: the return address is on top of the
 * stack. */
struct unwind_start {
    uint64_t address, size;
};

/*
 * Reads an .eh_frame that is loaded at `address`. Leaves out parts that gcc has split off a
 * function, unless they look like functions. The caller frees *starts. 0, or -1 with ERROR_SYSTEM
 * if out of memory; reading ends at the first invalid entry.
 */
int unwind_starts_read(const uint8_t *bytes, size_t length, uint64_t address,
                       struct unwind_start **starts, size_t *count, struct error *error);

enum { UNWIND_TABLE_SIZE = 512 };

/*
 * Writes an .eh_frame for __register_frame(), with which C++ exceptions, pthread_cancel(3) and
 * backtrace(3) pass the trampolines in [begin, begin + size): it finds return addresses in the
 * shadow stacks. `zero` is the address of eight zero bytes. Returns its length.
 */
size_t unwind_table_write(uint8_t out[UNWIND_TABLE_SIZE], const struct trace_head *head,
                          uint64_t begin, uint64_t size, uint64_t zero);

#endif
