/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_PATCH_UNWIND_TABLE_H
#define GASPIPE_TRACE_PATCH_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "trace/memory.h"

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
