/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/syscall_name.h"

#include <stdbool.h>

/* Offsets, not pointers, which the dynamic linker would relocate at each worker's start. */
static const char names[][32] = {
#include <syscall-names.inc> /* from libseccomp */
};

const char *syscall_name(size_t number)
{
    return number < sizeof names / sizeof *names && names[number][0] != '\0' ? names[number] : NULL;
}

#ifdef __x86_64__
const char *guest_syscall_name(size_t number)
{
    return syscall_name(number);
}
#else
static const char guest_names[][32] = {
#include <guest-syscall-names.inc>
};

const char *guest_syscall_name(size_t number)
{
    const bool is_named = number < sizeof guest_names / sizeof *guest_names;

    return is_named && guest_names[number][0] != '\0' ? guest_names[number] : NULL;
}
#endif
