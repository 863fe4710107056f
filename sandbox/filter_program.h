/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_FILTER_PROGRAM_H
#define GASPIPE_SANDBOX_FILTER_PROGRAM_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

/* Stands in a program for the number of the process that enters it: a number that no process, no
 * system call and no flag has. */
#define FILTER_OWN_PID 0x7047a501U

/* Kernels take no longer programs (BPF_MAXINSNS). */
enum { FILTER_PROGRAM_MAX = 4096 };

/*
 * Enters a filter of system calls that was compiled when gaspipe was built (sandbox/filters/):
 * this thread, or with `whole_process` all of them. no_new_privs must be set, or there must be the
 * privilege to do without. Not to be undone. 0 or an errno.
 */
int filter_program_enter(const struct sock_filter *program, size_t length, bool whole_process);

#endif
