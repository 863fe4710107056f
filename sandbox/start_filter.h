/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_START_FILTER_H
#define GASPIPE_SANDBOX_START_FILTER_H

#include "base/error.h"

/*
 * The seccomp filter under which a worker starts: the dynamic linker, QEMU and an engine find
 * what they want; no process can be made, no socket, and nothing that reaches other processes
 * or Linux's seldom used parts: those fail with EPERM. Stays with what is executed later.
 * no_new_privs must be set. 0, or -1 with ERROR_SYSTEM.
 */
int sandbox_enter_start_filter(struct error *error);

/* The same for a process that makes others, which enter the tight filter (sandbox/tight_filter.h)
 * before they do anything that was not decided here. */
int sandbox_enter_zygote_filter(struct error *error);

#endif
