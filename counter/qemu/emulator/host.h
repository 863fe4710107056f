/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_EMULATOR_HOST_H
#define GASPIPE_COUNTER_QEMU_EMULATOR_HOST_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/qemu/emulator/qemu_plugin_api.h"

/*
 * The QEMU that has loaded the counter, as far as QEMUs differ: those up to 8.2
 * have version 1 of the plugin API, those from 9.0 on version 2 and later, with a
 * word for each thread that translated code adds to (a scoreboard). One file of the
 * counter serves both: which it is shows when it is loaded, by the functions that
 * QEMU has.
 */

/* To be called once, before the others. False when this QEMU lacks something. */
bool host_learn(const struct qemu_plugin_info *info);

/* The path by which QEMU got its program. False where it cannot be known. */
bool host_program(char path[PATH_MAX]);

/* The bytes of an instruction that is being translated; how many there are. */
size_t host_instruction_bytes(const struct qemu_plugin_insn *insn, uint8_t *bytes, size_t room);

/*
 * Whether each iteration of a repeating string instruction begins as an instruction.
 * QEMU 10 does many in one go, and 9 is taken for the same.
 */
bool host_shows_iterations(void);

/* Whether translated code can add to words of the thread. If not, the next two must not be called.
 */
bool host_has_scoreboards(void);

/* Each time before the instruction is executed, so many are added to the thread's word. */
void host_add_before(struct qemu_plugin_insn *insn, uint64_t number);

/* The thread's word. Indices are used again, the word goes on. */
uint64_t host_added(unsigned thread);

#endif
