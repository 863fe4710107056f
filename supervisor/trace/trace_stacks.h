/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_STACKS_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_STACKS_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns the address, as in the file, of a function or variable that it exports; 0: it does not.
 */
uint64_t trace_exported_symbol(Elf *elf, const char *name);

/* The stacks of a stopped process, found by its unwind tables. */
struct trace_stacks;

/* NULL if they cannot be read. The caller is the process's tracer, and all threads are stopped. */
struct trace_stacks *trace_stacks_open(pid_t process);
void trace_stacks_close(struct trace_stacks *stacks); /* NULL is allowed */

/*
 * Returns true if the thread can call dlopen(3) and allocate memory where it is: it holds no lock
 * of the dynamic linker, the C library or an allocator, and is in no signal handler.
 *
 * `system_call` is the number of the system call that it waits in; -1: none. If the thread is not
 * safe, but will be when its current library call returns, *returns_to is that address, else 0.
 */
bool trace_stacks_is_safe(struct trace_stacks *stacks, pid_t thread, int64_t system_call,
                          uint64_t *returns_to);

#endif
