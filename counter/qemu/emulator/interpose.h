/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_EMULATOR_INTERPOSE_H
#define GASPIPE_COUNTER_QEMU_EMULATOR_INTERPOSE_H

#include <stdbool.h>

/*
 * Makes the program (QEMU itself) call `replacement` where it calls the C
 * library's `name` from now on. Only the program's own calls change, not those
 * of its libraries, nor the guest's. *original becomes the function that was
 * called before, to which the replacement passes on: it is there before the
 * first call can come, which may be at once, on another thread. False, with
 * nothing changed, when the program does not import that name.
 */
bool interpose(const char *name, void *replacement, void **original);

#endif
