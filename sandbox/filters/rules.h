/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_FILTERS_RULES_H
#define GASPIPE_SANDBOX_FILTERS_RULES_H

#include <seccomp.h>

/*
 * Add the rules of the system call filters (sandbox/main.c, sandbox/contract_filter.h) to a filter
 * of libseccomp. FILTER_OWN_PID stands for the process's own number. Return 0 or a negative errno.
 */
int rules_start(scmp_filter_ctx filter);    /* calls that are not named are allowed */
int rules_zygote(scmp_filter_ctx filter);   /* the same for a process that creates processes
                                               which confine themselves */
int rules_contract(scmp_filter_ctx filter); /* any other call ends the process by SIGSYS */

#endif
