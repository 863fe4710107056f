/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_PRECISION_H
#define GASPIPE_COUNTER_QEMU_PRECISION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether a syscall, by its number and arguments, makes it possible that the
 * guest goes on after an instruction in the middle of a block has not
 * completed: it installs a handler for a fault, or makes memory both writable
 * and executable, where a store can change the block that it is in.
 */
bool precision_is_needed(int64_t number, uint64_t a1, uint64_t a2, uint64_t a3);

/*
 * The same of how a program is laid out at its start: its ELF file asks for a segment or a
 * stack that is both writable and executable. True as well where the file cannot be read.
 */
bool precision_is_needed_by(const char *program);

#endif
