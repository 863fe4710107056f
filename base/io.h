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

/* Blocking input and output that goes on after EINTR and short counts. */

/*
 * Opens on /dev/null what is closed of stdin, stdout and stderr, before anything else is opened:
 * a pipe or a store that got one of these numbers would be written into as if it were the
 * terminal. 0, or -1 with errno.
 */
int io_open_standard(void);

/*
 * From now on a write that would wait fails with EINTR once a signal interrupts it: the process is
 * to end, and who should read does not. May be called by a signal's handler.
 */
void io_abandon_waits(void);
bool io_waits_are_abandoned(void);

/* 0 when every byte was written, else -1 with errno. */
int io_write_all(int fd, const void *bytes, size_t length);

/* As io_write_all() for several pieces; changes the array. */
int io_writev_all(int fd, struct iovec *pieces, int count);

/* Reads `length` bytes of a file from offset `at`, fewer only at its end. How many; -1 with errno.
 */
ssize_t io_read_at(int fd, void *bytes, size_t length, off_t at);

/* Writes all of one file, from its start, to another, from its place on. 0, or -1 with errno. */
int io_copy_all(int from, int to);

/*
 * errno of a file that cannot be opened or read, with its path: -1 with ERROR_INPUT, or
 * ERROR_SYSTEM where the host has run out of something, which is not the file's fault.
 */
int io_unreadable(const char *path, struct error *error);

/*
 * Opens a regular file that others may have put there, to be read, without waiting. `folder`: what
 * the path is relative to, or AT_FDCWD; `flags`: O_NOFOLLOW, to refuse a symbolic link in its
 * place, or 0. *fd is -1 where there is none. -1 with ERROR_INPUT: a FIFO, a device, a folder,
 * longer than `limit` bytes.
 */
int io_open_file(int folder, const char *path, int flags, uint64_t limit, int *fd,
                 struct error *error);

/* For who opens a path by other means: -1 with ERROR_INPUT when there is something else than a
 * regular file; 0 also when there is nothing. */
int io_check_file(const char *path, struct error *error);

/* -1 with ERROR_INPUT when the path is a FIFO's, which might wait for a writer for ever. An open
 * descriptor (/dev/stdin, /dev/fd/N, as process substitution names it) is none. */
int io_refuse_fifo(const char *path, struct error *error);

/*
 * Appends the whole of a file to *content. Refuses, before taking memory, a
 * file longer than `limit` bytes. 0, or -1 with ERROR_INPUT (missing, not
 * readable, a folder, too long) or ERROR_SYSTEM. Waits for who writes into a FIFO.
 */
int io_read_file(const char *path, size_t limit, struct buf *content, struct error *error);

/* The same of a file that is open. The path is for messages. */
int io_read_open(int fd, const char *path, size_t limit, struct buf *content, struct error *error);

#endif
