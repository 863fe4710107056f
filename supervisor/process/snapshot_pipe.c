/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/snapshot_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIPE_SIZE = 1 << 20 /* Linux's limit for users (pipe(7), pipe-max-size) */ };

void snapshot_pipe_init(struct snapshot_pipe *pipe, int fd, uint64_t cap)
{
    *pipe = (struct snapshot_pipe){.fd = fd, .file = -1, .cap = cap};
}

/* As read(2). Also what is not kept is read, or the worker would wait for ever. */
static ssize_t drop_some(const struct snapshot_pipe *pipe)
{
    static char dropped[64 << 10];

    return read(pipe->fd, dropped, sizeof dropped);
}

/* As read(2). splice(2) into a file in memory copies: later writes by the worker do not reach it.
 */
static ssize_t keep_some(struct snapshot_pipe *pipe)
{
    off_t at = (off_t)pipe->size;
    const ssize_t moved = splice(pipe->fd, NULL, pipe->file, &at, PIPE_SIZE, SPLICE_F_NONBLOCK);

    if (moved > 0)
        pipe->size += (uint64_t)moved;
    if (pipe->size > pipe->cap)
        pipe->problem = EFBIG;
    else if (moved < 0 && errno != EAGAIN && errno != EINTR)
        pipe->problem = errno;
    return moved;
}

/* Takes what is in the pipe now, but no more than that: a worker could write for ever. */
static void read_snapshot_pipe(struct snapshot_pipe *pipe)
{
    ssize_t taken = 0;

    while (taken < PIPE_SIZE) {
        const bool whole = pipe->problem == 0;
        const ssize_t moved = whole ? keep_some(pipe) : drop_some(pipe);

        if (moved > 0)
            taken += moved;
        else if (moved == 0)
            (void)uv_poll_stop(&pipe->poll); /* its end would be reported again and again */
        if (moved == 0 || (moved < 0 && errno == EAGAIN) || (moved < 0 && !whole))
            return;
    }
}

static void on_snapshot_readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    read_snapshot_pipe(
        (struct snapshot_pipe *)((char *)poll - offsetof(struct snapshot_pipe, poll)));
}

static int open_poll(struct snapshot_pipe *pipe, uv_loop_t *loop, void *data, int *opened)
{
    int result;

    if (pipe->poll.data != NULL)
        return 0;
    /* If Linux refuses, the two ends switch more often. */
    (void)fcntl(pipe->fd, F_SETPIPE_SZ, PIPE_SIZE);
    result = uv_poll_init(loop, &pipe->poll, pipe->fd);
    if (result != 0)
        return result;
    pipe->poll.data = data;
    (*opened)++;
    return 0;
}

/* At most what fits into the pipe: a worker that continues to write spoils its own snapshot. */
static void drop_old_bytes(const struct snapshot_pipe *pipe)
{
    for (ssize_t dropped = 0, some; dropped < PIPE_SIZE; dropped += some) {
        some = drop_some(pipe);
        if (some <= 0)
            return;
    }
}

int snapshot_pipe_begin(struct snapshot_pipe *pipe, uv_loop_t *loop, void *data, int *opened,
                        struct error *error)
{
    const int result = open_poll(pipe, loop, data, opened);

    if (result != 0)
        return error_set(error, ERROR_SYSTEM, "cannot take a snapshot from a worker: %s",
                         uv_strerror(result));
    drop_old_bytes(pipe);
    pipe->size = 0;
    pipe->problem = 0;
    pipe->file = memfd_create("gaspipe-snapshot", MFD_CLOEXEC);
    if (pipe->file < 0)
        return error_system(error, errno, "cannot take a snapshot from a worker");
    (void)uv_poll_start(&pipe->poll, UV_READABLE,
                        on_snapshot_readable); /* cannot fail: it is open */
    return 0;
}

int snapshot_pipe_end(struct snapshot_pipe *pipe, struct error *error)
{
    const int file = pipe->file;

    (void)uv_poll_stop(&pipe->poll);
    read_snapshot_pipe(pipe);
    pipe->file = -1;
    if (pipe->problem == 0)
        return file;
    close(file);
    if (pipe->size > pipe->cap)
        return error_set(error, ERROR_INPUT, "it wrote a snapshot of more than %" PRIu64 " bytes",
                         pipe->cap);
    return error_system(error, pipe->problem, "cannot keep a snapshot");
}

void snapshot_pipe_free(struct snapshot_pipe *pipe)
{
    if (pipe->file >= 0)
        close(pipe->file);
    if (pipe->fd >= 0)
        close(pipe->fd);
}
