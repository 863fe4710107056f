/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_CONTRACT_FILTER_H
#define GASPIPE_SANDBOX_CONTRACT_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

/* Stands in a program for the number of the process that enters it: a number that no process, no
 * system call and no flag has. */
#define FILTER_OWN_PID 0x7047a501U

/* Linux refuses longer programs (BPF_MAXINSNS). */
enum { FILTER_PROGRAM_MAX = 4096 };

/*
 * Enters a filter of system calls that was compiled when gaspipe was built (sandbox/filters/):
 * this thread, or with `whole_process` all of them. no_new_privs must be set, or the caller needs
 * the privilege to do without. Not to be undone. 0 or an errno.
 */
int filter_program_enter(const struct sock_filter *program, size_t length, bool whole_process);

/* 1 in a build with sanitizers, whose reports need what the sandbox refuses. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_UNDEFINED__)
#define SANDBOX_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define SANDBOX_SANITIZED 1
#endif
#endif
#ifndef SANDBOX_SANITIZED
#define SANDBOX_SANITIZED 0
#endif

/*
 * The seccomp filter under which a worker runs contracts, from when it is ready on: it reads and
 * writes descriptors that it has, takes and gives back memory that cannot be executed, asks for
 * the time, and ends. Opening a file fails with EACCES, and so do other calls that only ask, each
 * with an error that is the same on every machine. All else ends the process by SIGSYS, after a
 * line on stderr: CONTRACT_FILTER_REFUSES and the name of the system call, or its number if it has
 * none.
 *
 * `whole_process` puts all threads under it, as QEMU needs, whose helper threads live on. Not to
 * be undone. Returns 0 or an errno; EOPNOTSUPP in a build with sanitizers, whose reports need
 * what the filter refuses.
 */
int sandbox_enter_contract_filter(bool whole_process);
#define CONTRACT_FILTER_REFUSES "contracts may not make the system call "

/*
 * To be called before the system call of QEMU's guest. QEMU blocks all signals before it makes a
 * process, and the filter could not name the call: under the filter, this does it instead.
 */
void sandbox_check_process_call(long number);

#endif
