/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_PIPE_DIRECT_READ_H
#define GASPIPE_SUPERVISOR_PROCESS_PIPE_DIRECT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Reads that wait in read(2) itself, for an event loop that has one thing to wait for:
 * asking epoll_wait(2) first makes a short exchange through a pipe a tenth longer, or more.
 * So that nothing else waits for long, a timer's signal (SIGRTMIN, to the calling thread)
 * ends such a wait every 10 ms; while no such reads are made the timer stands still. For one thread
 * of a process.
 */

/*
 * From here on direct_read_due() is false until the timer has ticked. False: there is no
 * timer to be had; direct_read() may not be called.
 */
bool direct_read_begin(void);

/*
 * As read(2) from a descriptor that is in blocking mode, and again is so afterwards; -1 with
 * EAGAIN when the timer ticked before anything came. EINTR is met by reading again.
 */
ssize_t direct_read(int fd, void *bytes, size_t size);

/* Whether it is time for the loop to look at everything else. */
bool direct_read_due(void);

#endif
