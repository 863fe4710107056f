/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_SYSCALL_NAME_H
#define GASPIPE_SANDBOX_SYSCALL_NAME_H

#include <stddef.h>

/* The name of a system call of this machine by number; NULL if none. */
const char *syscall_name(size_t number);

/* The same of x86-64, whose programs the counter runs on every machine. */
const char *guest_syscall_name(size_t number);

#endif
