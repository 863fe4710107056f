/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SANDBOX_CONTRACT_FILTER_H
#define GASPIPE_SANDBOX_CONTRACT_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Placeholder for the number of the process that enters the filter; no process, system call or
 * flag has this number.
 */
#define FILTER_OWN_PID 0x7047a501U

/* Linux refuses longer programs (BPF_MAXINSNS). */
enum { FILTER_PROGRAM_MAX = 4096 };

/*
 * Installs a system call filter compiled with gaspipe (sandbox/filters/): for this thread, or with
 * `whole_process` for all. Requires no_new_privs or the privilege to do without. Irreversible.
 * Returns 0 or an errno.
 */
int filter_program_enter(const struct sock_filter *program, size_t length, bool whole_process);

/* 1 in a build with sanitizers, whose reports need what the sandbox forbids. */
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
 * Installs the seccomp filter under which a worker runs contracts, once it is ready. It may read
 * and write its descriptors, allocate and free memory that is not executable, ask for the time,
 * and exit. Opening a file fails with EACCES; other calls that only ask fail with an error that is
 * the same on every machine. Everything else ends the process by SIGSYS after a line on stderr:
 * CONTRACT_FILTER_REFUSES and the name of the system call, or its number.
 *
 * `whole_process` covers all threads, as QEMU's helper threads need. Irreversible. Returns 0 or an
 * errno; EOPNOTSUPP in a build with sanitizers, whose reports need what the filter forbids.
 */
int sandbox_enter_contract_filter(bool whole_process);
#define CONTRACT_FILTER_REFUSES "contracts may not make the system call "

/*
 * Call before a system call of QEMU's guest. QEMU blocks all signals before it creates a process,
 * so the filter could not report the call; under the filter, this does.
 */
void sandbox_check_process_call(long number);

#endif
