/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_PIPE_POLLING_H
#define GASPIPE_WORKER_PIPE_POLLING_H

#include <sys/types.h>
#include <sys/uio.h>

#include "base/error.h"
#include "proto/poll_page.h"

/* The page behind that descriptor; to the end of the process. NULL with ERROR_SYSTEM. */
const struct poll_page *polling_open(int fd, struct error *error);

/*
 * As read(2), while the page says that this process polls, for ten milliseconds at most, and as
 * long as nobody else wants the processor. -1 with EAGAIN: nothing has come, and the caller is to
 * wait.
 */
ssize_t polling_read(const struct poll_page *page, int fd, struct iovec place);

#endif
