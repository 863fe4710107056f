/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/syscall_name.h"

/* Offsets, not pointers, which the dynamic linker would relocate at each worker's start. */
static const char names[][32] = {
#include <syscall_names.inc> /* from Linux's header */
};

const char *syscall_name(size_t number)
{
    return number < sizeof names / sizeof *names && names[number][0] != '\0' ? names[number] : NULL;
}
