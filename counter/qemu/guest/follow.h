/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_GUEST_FOLLOW_H
#define GASPIPE_COUNTER_QEMU_GUEST_FOLLOW_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* The direction of the bytes that a system call's result counts. */
enum syscall_direction {
    SYSCALL_CARRIES_NOTHING = 0,
    SYSCALL_READS = 1,
    SYSCALL_WRITES = 2,
    SYSCALL_READS_AND_WRITES = 3, /* from one descriptor to another */
};

/* Accepts any number of an x86-64 system call. */
enum syscall_direction syscall_direction(int64_t number);

/* Stores the path that QEMU got for its program, from its own command line: the word after "-0
 * NAME". Returns false without that option, which gaspipe always gives. */
bool present_program(char path[PATH_MAX]);

/* Gives the guest the same random bytes in every run, for getrandom(2) and for read(2) of
 * /dev/random and /dev/urandom: overwrites the bytes that Linux returned. Do not use it for a
 * program with real secrets. */

/* Call this when any system call begins, on the thread that makes it. */
void randomness_asked(int64_t number, uint64_t a1, uint64_t a2);

/* Call this when it has ended, on the same thread, with its result. */
void randomness_given(int64_t result);

/*
 * QEMU passes a guest's execve(2) to Linux, which would run the new program without QEMU,
 * uncounted. This executes QEMU again, with the same options and the new program.
 *
 * It expects QEMU's command line as supervisor/process/guest.c builds it: `-0 NAME` directly before
 * the program, and the program's path names a descriptor.
 */

/* All three are guest addresses. Returns only if QEMU cannot run the program. The guest's own
 * execve then continues: it fails as it should, or runs the program uncounted. */
void follow_execve(uint64_t path, uint64_t arguments, uint64_t environment);

#endif
