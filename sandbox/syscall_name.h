/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_SYSCALL_NAME_H
#define GASPIPE_SANDBOX_SYSCALL_NAME_H

#include <stddef.h>

/* The name of an x86-64 system call by number; NULL if none. */
const char *syscall_name(size_t number);

#endif
