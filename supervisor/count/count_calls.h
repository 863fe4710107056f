/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_COUNT_CALLS_H
#define GASPIPE_SUPERVISOR_COUNT_COUNT_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/report.h"

/* A system call by its name; "others": all that have none, together. */
struct count_call {
    const char *name;
    uint64_t times; /* that it was made, above 0 */
};

/*
 * The next of those that were made, in the order of their numbers, "others" last.
 * `calls` are by report_call(); *place is 0 for the first. False: there is no more.
 */
bool count_calls_next(const uint64_t calls[REPORT_SYSCALLS], size_t *place,
                      struct count_call *call);

#endif
