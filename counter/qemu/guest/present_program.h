/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_QEMU_GUEST_PRESENT_PROGRAM_H
#define GASPIPE_COUNTER_QEMU_GUEST_PRESENT_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/*
 * The path by which QEMU got the program that it runs, from its own command line: what
 * follows "-0 NAME". False where that option, which gaspipe always gives, is not there.
 */
bool present_program(char path[PATH_MAX]);

#endif
