/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_IO_H
#define GASPIPE_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"

/* Blocking I/O that continues after EINTR and short counts. */

/*
 * Opens stdin, stdout and stderr on /dev/null if closed. Call it first: a pipe or store with one
 * of these numbers would be used as the terminal. 0, or -1 with errno.
 */
int io_open_standard(void);

/*
 * Makes waiting writes fail with EINTR when a signal interrupts them, as the process must end even
 * if its reader does not read. May be called in a signal handler.
 */
void io_abandon_waits(void);
bool io_waits_are_abandoned(void);

/*
 * Stdout cannot be written, for errno: -1 with ERROR_SYSTEM and this text. If its reader went away,
 * it ends the process quietly, by the SIGPIPE that main() ignores.
 */
int io_fail_stdout(const char *text, struct error *error);

/* 0 when every byte was written, else -1 with errno. */
int io_write_all(int fd, const void *bytes, size_t length);

/* As io_write_all() for several pieces; changes the array. */
int io_writev_all(int fd, struct iovec *pieces, int count);

/*
 * Reads `length` bytes of a file from offset `at`, fewer only at its end. Returns how many; -1
 * with errno.
 */
ssize_t io_read_at(int fd, void *bytes, size_t length, off_t at);

/* Copies all of a file to another, from its current position. 0, or -1 with errno. */
int io_copy_all(int from, int to);

/*
 * Reports errno for a file that cannot be opened or read: -1 with ERROR_INPUT, or ERROR_SYSTEM if
 * the host lacks a resource.
 */
int io_unreadable(const char *path, struct error *error);

/* Opens a regular file for reading without waiting, although others may have placed something else
 * there. `path` is relative to the open `directory`, or to AT_FDCWD. `flags`: O_NOFOLLOW to refuse
 * a symbolic link, or 0. *fd is -1 if the file is absent. Returns -1 with ERROR_INPUT for a FIFO, a
 * device, a directory, or more than `limit` bytes. */
int io_open_file(int directory, const char *path, int flags, uint64_t limit, int *fd,
                 struct error *error);

/*
 * For callers that open the path themselves: -1 with ERROR_INPUT if it is not a regular file; 0
 * also if it is absent.
 */
int io_check_file(const char *path, struct error *error);

/*
 * -1 with ERROR_INPUT if the path is a FIFO, whose writer may never come. An open descriptor
 * (/dev/stdin, /dev/fd/N, as from process substitution) is allowed.
 */
int io_refuse_fifo(const char *path, struct error *error);

/*
 * Appends a file to *content. Refuses a file longer than `limit` bytes before allocating memory.
 * 0, or -1 with ERROR_INPUT (absent, unreadable, a directory, too long) or ERROR_SYSTEM. Waits for
 * the writer of a FIFO.
 */
int io_read_file(const char *path, size_t limit, struct buf *content, struct error *error);

/* The same for an open file. The path is for messages. */
int io_read_open(int fd, const char *path, size_t limit, struct buf *content, struct error *error);

#endif
