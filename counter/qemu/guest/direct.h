/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_GUEST_DIRECT_H
#define GASPIPE_COUNTER_QEMU_GUEST_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/gasmark.h"

/*
 * Direct execution: the processor itself goes on with a thread of the guest where QEMU has stopped,
 * in QEMU's process, at the guest's addresses, and gives it back. Nothing of that is counted.
 */

/* Before all others: whether marks that ask for it are obeyed. */
void direct_allow(bool is_allowed);

/* Lets the processor execute that code. 0 or an errno: ENOTSUP where it cannot be done. */
int direct_take_code(const struct gasmark_code *code);

/* GASMARK_DIRECT with the buffer at that address of the guest. Changes nothing where it cannot be
 * done. */
void direct_run(uint64_t buffer, uint64_t size);

#endif
