/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUNTIME_HEAP_FILE_H
#define GASPIPE_SUPERVISOR_RUNTIME_HEAP_FILE_H

#include <sys/uio.h>

#include "base/error.h"

/*
 * A file in memory that holds one snapshot on its way between a worker and the store.
 * Errors are ERROR_SYSTEM unless said otherwise.
 */

/* A new, empty one: its descriptor, the caller's to close. Or -1. */
int heap_file_new(struct error *error);

/* Checks that a worker has written the file: it is not empty, and as long as the worker reports.
 * `reply` follows the meter record: the length in bytes, in decimal, or nothing. -1 with
 * ERROR_INPUT if not. Rewinds the file. */
int heap_file_check(int fd, struct iovec reply, struct error *error);

/* Appends all of `from`, from its position on. 0 or -1. */
int heap_file_copy(int to, int from, struct error *error);

/* Another descriptor of the same file, with a position of its own. Or -1. */
int heap_file_reopen(int fd, struct error *error);

#endif
