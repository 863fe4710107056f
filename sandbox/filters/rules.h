/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_FILTERS_RULES_H
#define GASPIPE_SANDBOX_FILTERS_RULES_H

#include <seccomp.h>

/*
 * The rules of the filters of system calls (sandbox/main.c, sandbox/contract_filter.h), put
 * into a filter of libseccomp. FILTER_OWN_PID stands for the process's own number. 0 or a
 * negative errno.
 */
int rules_start(scmp_filter_ctx filter);    /* what is not named is allowed */
int rules_zygote(scmp_filter_ctx filter);   /* the same, for who makes processes that confine
                                               themselves */
int rules_contract(scmp_filter_ctx filter); /* any other call ends the process by SIGSYS */

#endif
