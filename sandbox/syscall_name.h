/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_SYSCALL_NAME_H
#define GASPIPE_SANDBOX_SYSCALL_NAME_H

#include <stddef.h>

/* The name of a system call of x86-64 by its number; NULL for a number that has none. */
const char *syscall_name(size_t number);

#endif
