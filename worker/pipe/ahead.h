/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_PIPE_AHEAD_H
#define GASPIPE_WORKER_PIPE_AHEAD_H

#include <stdbool.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"

/* The answers of a COMMAND_AHEAD frame that are not used yet. All zeros: none. */
struct ahead {
    struct buf answers; /* netstrings */
    size_t next;        /* where the first one begins that is not used */
};

/*
 * Takes the answers out of the frame's payload, the bytes behind COMMAND_AHEAD; what was there
 * before is gone. *command is the frame that follows them, in the payload. -1 with ERROR_INPUT
 * when they are no netstrings, or ERROR_SYSTEM.
 */
int ahead_take(struct ahead *ahead, struct iovec payload, struct iovec *command,
               struct error *error);

static inline bool ahead_is_empty(const struct ahead *ahead)
{
    return ahead->next >= ahead->answers.length;
}

/* The next answer, and uses it; there is one. Good until ahead_take() or ahead_drop(). */
struct iovec ahead_next(struct ahead *ahead);

/* Forgets what is left, and keeps the memory. */
void ahead_drop(struct ahead *ahead);

void ahead_free(struct ahead *ahead);

#endif
