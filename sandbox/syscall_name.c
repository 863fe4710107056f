/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/syscall_name.h"

/* Not pointers, which the dynamic linker would relocate in every worker that starts. */
static const char names[][32] = {
#include <syscall_names.inc> /* from the kernel's header */
};

const char *syscall_name(size_t number)
{
    return number < sizeof names / sizeof *names && names[number][0] != '\0' ? names[number] : NULL;
}
