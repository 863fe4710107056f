/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_PROFILE_H
#define GASPIPE_COUNTER_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/qemu_plugin_api.h"

/*
 * Where the instructions are that were executed (`profile=PATH`). Each process
 * appends to the file when it ends or becomes another program, one line for
 * each place: `COUNT OFFSET PATH`, in decimal, of the file that the code was
 * mapped from, or `COUNT 0 -` for code from no file. COUNT is of instructions
 * that began; repeating ones for each iteration. Where no profile was asked
 * for, all of these do nothing.
 */

/* False, with words on stderr, when there is no memory or the path is too long. */
bool profile_open(const char *path);

/* As tally_count_before(), beside it; many_threads as the tally has it at that moment. */
void profile_count_before(struct qemu_plugin_insn *insn, uint64_t instructions, bool many_threads);

/* To be called before a syscall that ends the process or makes it another program. */
void profile_write(void);

#endif
