/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_GUEST_FOLLOW_H
#define GASPIPE_COUNTER_QEMU_GUEST_FOLLOW_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Which way a system call's result, where it is a number of bytes, has carried them. */
enum syscall_direction {
    SYSCALL_CARRIES_NOTHING = 0,
    SYSCALL_READS = 1,
    SYSCALL_WRITES = 2,
    SYSCALL_READS_AND_WRITES = 3, /* from one descriptor to another */
};

/* By the number of the system call on x86-64; any number may be asked for. */
enum syscall_direction syscall_direction(int64_t number);

/*
 * The path by which QEMU got the program that it runs, from its own command line: what
 * follows "-0 NAME". False where that option, which gaspipe always gives, is not there.
 */
bool present_program(char path[PATH_MAX]);

/*
 * getrandom(2), and read(2) of /dev/random and /dev/urandom, give the guest the same
 * bytes in every run: those that Linux wrote are written over. Never for a program
 * whose secrets matter.
 */

/* When any system call begins, by its number and arguments, on the thread that makes it. */
void randomness_asked(int64_t number, uint64_t a1, uint64_t a2);

/* When it has ended, on the same thread, with its result. */
void randomness_given(int64_t result);

/*
 * QEMU hands a guest's execve(2) to the host, whose kernel would run the new
 * program without QEMU, uncounted. This does the execve in the guest's place,
 * of QEMU with the same options and the new program.
 *
 * QEMU must have been started as supervisor/process/guest.c does: `-0 NAME` last before
 * the program, and the program by the path of a descriptor.
 */

/*
 * All three are addresses in the guest. Returns only when this is not for QEMU
 * to run, or not possible: then the guest's own execve goes on, and either
 * fails as it should or runs the program uncounted.
 */
void follow_execve(uint64_t path, uint64_t arguments, uint64_t environment);

#endif
