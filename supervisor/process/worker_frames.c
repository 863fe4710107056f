/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "supervisor/process/direct_read.h"
#include "supervisor/process/worker_process_parts.h"

enum {
    PIPE_SIZE = 64 * 1024,     /* as pipe(2) makes them */
    LARGE_PIPE_SIZE = 1 << 20, /* the most that anybody may have (pipe(7), pipe-max-size) */
    WRITE_PATIENCE_MS = 10,
};

/* How many processes of this thread are awaited. Of a single one it is read directly. */
static _Thread_local int awaited_count;

static void set_awaited(struct worker_process *process, bool awaited)
{
    awaited_count += (int)awaited - (int)process->awaited;
    process->awaited = awaited;
}

void worker_frames_forget(struct worker_process *process)
{
    set_awaited(process, false);
}

/*
 * A frame that does not fit in the pipe has the two ends switch for each pipeful; the more
 * it holds the fewer there are. Only for who sends large frames: a user's pipes have a
 * limit in all. Where it is not allowed, things go on as they are.
 */
static void enlarge_pipe(int fd, size_t frame, bool *large)
{
    if (*large || frame <= PIPE_SIZE)
        return;
    *large = true;
    (void)fcntl(fd, F_SETPIPE_SZ, LARGE_PIPE_SIZE);
}

/* ---- frames up ---- */

/* A worker that closed its pipe has nothing more to say: if it is not ending by
 * itself, it is made to. */
static void up_closed(struct worker_process *process)
{
    struct error error;

    (void)uv_poll_stop(&process->up);
    process->up_ended = true;
    set_awaited(process, false);
    if (!process->garbled && !netstring_between_frames(&process->decoder)) {
        error_set(&error, ERROR_INPUT, "it ended inside a frame");
        process->listener.bad_frame(process->listener.context, &error);
    }
    worker_process_kill(process);
    worker_process_tell_when_gone(process);
}

/* True: the frame was whole, and has been told. */
static bool tell_decoded(struct worker_process *process, enum netstring_result decoded,
                         struct iovec frame, struct stamp come, const struct error *error)
{
    if (decoded == NETSTRING_FRAME) {
        set_awaited(process, false);
        process->listener.frame(process->listener.context, frame, come);
    } else if (decoded == NETSTRING_BAD) {
        process->garbled = true;
        set_awaited(process, false);
        process->listener.bad_frame(process->listener.context, error);
    }
    return decoded == NETSTRING_FRAME;
}

/* All frames in what came into the input. */
static void take_input(struct worker_process *process, size_t length, struct stamp come)
{
    const char *bytes = process->input;
    bool more = true;

    while (more && length > 0 && !process->garbled) {
        enum netstring_result decoded;
        struct iovec frame;
        struct error error;
        size_t used;

        decoded = netstring_decode(&process->decoder, bytes, length, &used, &frame, &error);
        if (decoded == NETSTRING_MORE)
            enlarge_pipe(process->up_fd, process->decoder.length, &process->up_large);
        /* What is behind the frame came before that could be answered: neither is believed. */
        if (decoded == NETSTRING_FRAME && used < length && process->by_turns) {
            error_set(&error, ERROR_INPUT, "it spoke out of turn");
            decoded = NETSTRING_BAD;
        }
        more = tell_decoded(process, decoded, frame, come, &error);
        bytes += used;
        length -= used;
    }
}

/* Once, when something is there or while nothing else is to be waited for. What follows a
 * bad frame is thrown away. False when nothing came. */
static bool read_up(struct worker_process *process,
                    ssize_t (*read_some)(int fd, void *bytes, size_t size))
{
    struct iovec place = {.iov_base = process->input, .iov_len = sizeof process->input};
    bool straight = !process->garbled && netstring_rest(&process->decoder, &place);
    ssize_t length = read_some(process->up_fd, place.iov_base, place.iov_len);
    /* Of a frame that was sent just now one clock is enough. */
    struct stamp come = process->awaited ? stamp_after(process->sent) : stamp_now();

    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (length <= 0) {
        up_closed(process);
    } else if (straight) {
        struct iovec frame = {0};
        struct error error;
        enum netstring_result decoded =
            netstring_take_rest(&process->decoder, (size_t)length, &frame, &error);

        (void)tell_decoded(process, decoded, frame, come, &error);
    } else {
        take_input(process, (size_t)length, come);
    }
    return true;
}

static void up_readable(uv_poll_t *poll, int status, int events)
{
    struct worker_process *process = poll->data;

    (void)status;
    (void)events;
    process->slow = false;
    (void)read_up(process, read);
}

/* Nothing that the loop has to do for this worker stands in the way of waiting for it. */
static bool may_wait_directly(const struct worker_process *process)
{
    return process->awaited && awaited_count == 1 && !process->slow && !process->freed &&
           !process->up_ended && !process->down_closed &&
           uv_stream_get_write_queue_size((const uv_stream_t *)&process->down) == 0;
}

/*
 * Before the loop waits: while this worker is all that is waited for, its frames are read
 * directly. What they lead to mostly has the next one sent. Meanwhile the loop is not
 * interested in the pipe, so that the worker's write does not stop to tell it.
 */
static void wait_directly(uv_prepare_t *prepare)
{
    struct worker_process *process = prepare->data;

    if (!may_wait_directly(process) || !direct_read_begin())
        return;
    (void)uv_poll_stop(&process->up);
    while (may_wait_directly(process) && !direct_read_due())
        process->slow = !read_up(process, direct_read);
    /* Cannot fail: it was started before. */
    if (!process->up_ended && !process->freed)
        (void)uv_poll_start(&process->up, UV_READABLE, up_readable);
}

/* libuv would have the descriptor not block; with one reader, and reading once when there
 * is something, blocking is the same to the loop. */
int worker_frames_open_up(struct worker_process *process, uv_loop_t *loop, int fd)
{
    int result = uv_poll_init(loop, &process->up, fd);

    if (result != 0)
        return result;
    process->up.data = process;
    process->handles_open++;
    process->up_fd = fd;
    if (fcntl(fd, F_SETFL, 0) != 0)
        return uv_translate_sys_error(errno);
    (void)uv_prepare_init(loop, &process->before_poll); /* cannot fail in any libuv 1 */
    process->before_poll.data = process;
    process->handles_open++;
    uv_unref((uv_handle_t *)&process->before_poll);
    return uv_prepare_start(&process->before_poll, wait_directly);
}

int worker_frames_start(struct worker_process *process)
{
    return uv_poll_start(&process->up, UV_READABLE, up_readable);
}

void worker_frames_finish(struct worker_process *process)
{
    int waiting = 0;

    while (!process->up_ended && ioctl(process->up_fd, FIONREAD, &waiting) == 0 && waiting > 0)
        (void)read_up(process, read);
    if (process->up_ended)
        worker_process_tell_when_gone(process);
    else
        up_closed(process);
}

/* ---- frames down ---- */

/* What the pipe did not take at once. */
struct rest {
    uv_write_t request;
    char bytes[];
};

static void rest_written(uv_write_t *request, int status)
{
    /* A failure is the worker's going, of which gone() tells. */
    (void)status;
    free(request->data);
}

static int send_rest(struct worker_process *process, const uv_buf_t *pieces, unsigned count,
                     size_t left, struct error *error)
{
    struct rest *rest = malloc(sizeof *rest + left);
    uv_buf_t buffer;
    size_t length = 0;

    if (rest == NULL)
        return error_memory(error, "a frame");
    for (unsigned i = 0; i < count; i++) {
        memcpy(rest->bytes + length, pieces[i].base, pieces[i].len);
        length += pieces[i].len;
    }
    rest->request.data = rest;
    buffer = uv_buf_init(rest->bytes, (unsigned)length);
    if (uv_write(&rest->request, (uv_stream_t *)&process->down, &buffer, 1, rest_written) != 0)
        free(rest);
    return 0;
}

/* Takes the first `written` bytes away from the pieces. */
static void skip_written(uv_buf_t **pieces, unsigned *count, size_t written)
{
    while (*count > 0 && written >= (*pieces)->len) {
        written -= (*pieces)->len;
        (*pieces)++;
        (*count)--;
    }
    if (*count > 0) {
        (*pieces)->base += written;
        (*pieces)->len -= written;
    }
}

/* Whether the pipe takes more, after a while at most. Not to be waited for while others
 * are, nor when it is full because nobody reads; and what the loop has to write before that
 * is written by nobody else. */
static bool wait_for_room(const struct worker_process *process, int fd)
{
    struct pollfd pipe = {.fd = fd, .events = POLLOUT};

    if (uv_stream_get_write_queue_size((const uv_stream_t *)&process->down) > 0)
        return false;
    return process->awaited && awaited_count == 1 && poll(&pipe, 1, WRITE_PATIENCE_MS) == 1;
}

/* Writes as much as the pipe takes; *left is what remains. */
static void write_pieces(struct worker_process *process, uv_buf_t **pieces, unsigned *count,
                         size_t *left)
{
    uv_os_fd_t fd = -1;

    (void)uv_fileno((uv_handle_t *)&process->down, &fd); /* cannot fail: it is open */
    enlarge_pipe(fd, *left, &process->down_large);
    for (;;) {
        int written = uv_try_write((uv_stream_t *)&process->down, *pieces, *count);

        if (written < 0 && written != UV_EAGAIN)
            *left = 0; /* the worker has gone, of which gone() tells */
        if (written > 0) {
            *left -= (size_t)written;
            if (*left > 0)
                skip_written(pieces, count, (size_t)written);
        }
        if (*left == 0 || !wait_for_room(process, fd))
            return;
    }
}

int worker_process_send(struct worker_process *process, const struct iovec *parts, int count,
                        struct stamp *sent, struct error *error)
{
    struct netstring_frame frame;
    uv_buf_t buffers[NETSTRING_PARTS_MAX + 2], *pieces = buffers;
    unsigned piece_count;
    size_t left;

    netstring_encode(&frame, parts, count);
    left = frame.size;
    piece_count = (unsigned)frame.count;
    for (int i = 0; i < frame.count; i++)
        buffers[i] = uv_buf_init(frame.pieces[i].iov_base, (unsigned)frame.pieces[i].iov_len);
    *sent = process->sent = stamp_now();
    if (process->down_closed)
        return 0;
    set_awaited(process, !process->up_ended && !process->garbled);
    write_pieces(process, &pieces, &piece_count, &left);
    return left == 0 ? 0 : send_rest(process, pieces, piece_count, left, error);
}
