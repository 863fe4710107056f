/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_EMULATOR_INTERPOSE_H
#define GASPIPE_COUNTER_QEMU_EMULATOR_INTERPOSE_H

#include <stdbool.h>

/* Makes the program (QEMU itself) call `replacement` instead of the C library's `name`. Calls by
 * QEMU's libraries and by the guest do not change. *original receives the previous function, for
 * the replacement to call. It is set before the first call can come, which may be at once and on
 * another thread. Returns false and changes nothing if the program does not import that name. */
bool interpose(const char *name, void *replacement, void **original);

#endif
