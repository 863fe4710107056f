/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_INTERPOSE_H
#define GASPIPE_COUNTER_INTERPOSE_H

/*
 * Makes the program (QEMU itself) call `replacement` where it calls the C
 * library's `name` from now on. Only the program's own calls change, not those
 * of its libraries, nor the guest's. Returns the function that was called
 * before, to which the replacement passes on; NULL, with nothing changed, when
 * the program does not import that name.
 */
void *interpose(const char *name, void *replacement);

#endif
