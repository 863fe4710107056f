/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/worker_frames.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
    PIPE_SIZE = 64 * 1024,     /* as pipe(2) makes them */
    LARGE_PIPE_SIZE = 1 << 20, /* the most that a user may have (pipe(7), pipe-max-size) */
    WRITE_TIMEOUT_MS = 10,
};

/* ---- reading directly ---- */

/*
 * Waits in read(2) itself while the loop has one thing to wait for: asking epoll_wait(2) first
 * makes a short exchange a tenth longer. Two hazards follow. The loop's other events would wait, so
 * a timer's signal (SIGRTMIN, to this thread) ends the read every 10 ms; while no direct reads are
 * made, the timer stands still. And the signal may come after the last check but before read(2) is
 * entered, which it then would not end. So the handler does not rely on EINTR: it makes the
 * descriptor non-blocking, and the read after it returns EAGAIN at once. The reader makes it
 * blocking again. One thread of a process may do this.
 */
enum { TICK_NANOSECONDS = 10000000 };

/* A signal's handler gets no context, so all of this is static. */
static timer_t tick_timer;
static enum { UNTRIED, READY, UNAVAILABLE } timer_state;
static volatile sig_atomic_t timer_runs; /* the timer */
static volatile sig_atomic_t tick_used;  /* since the last tick */
static volatile sig_atomic_t ticked;     /* since direct_read_begin() */
static volatile sig_atomic_t direct_fd = -1;

static void set_timer(long nanoseconds)
{
    const struct itimerspec period = {
        .it_interval.tv_nsec = nanoseconds,
        .it_value.tv_nsec = nanoseconds,
    };

    /* Cannot fail: the timer is there and the time is one. */
    (void)timer_settime(tick_timer, 0, &period, NULL);
}

/*
 * The signal restarts what it interrupts (SA_RESTART), so that only a direct read notices it: its
 * descriptor no longer blocks, which ends the read even if the signal came just before read(2).
 */
static void tick(int number)
{
    int before = errno;

    (void)number;
    ticked = 1;
    if (direct_fd >= 0)
        (void)fcntl(direct_fd, F_SETFL, O_NONBLOCK);
    if (!tick_used) {
        timer_runs = 0;
        set_timer(0);
    }
    tick_used = 0;
    errno = before;
}

/* gcc's ThreadSanitizer runs no handler during a read(2). */
#ifdef __SANITIZE_THREAD__
enum { HANDLERS_RUN_IN_READ = 0 };
#else
enum { HANDLERS_RUN_IN_READ = 1 };
#endif

static bool make_timer(void)
{
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};

    /* glibc 2.36 has no other name for it. */
    event._sigev_un._tid = gettid();
    return HANDLERS_RUN_IN_READ && sigaction(SIGRTMIN, &action, NULL) == 0 &&
           timer_create(CLOCK_MONOTONIC, &event, &tick_timer) == 0;
}

static bool direct_read_begin(void)
{
    if (timer_state == UNTRIED)
        timer_state = make_timer() ? READY : UNAVAILABLE;
    if (timer_state == UNAVAILABLE)
        return false;
    ticked = 0;
    tick_used = 1;
    if (!timer_runs) {
        timer_runs = 1;
        set_timer(TICK_NANOSECONDS);
    }
    return true;
}

static ssize_t direct_read(int fd, void *bytes, size_t size)
{
    ssize_t got;

    tick_used = 1;
    direct_fd = fd;
    do
        got = read(fd, bytes, size);
    while (got < 0 && errno == EINTR);
    direct_fd = -1;
    /* A tick may have come after the bytes. */
    if (ticked) {
        int before = errno;

        (void)fcntl(fd, F_SETFL, 0);
        errno = before;
    }
    return got;
}

static bool direct_read_due(void)
{
    return ticked;
}

/* ---- frames ---- */

/* How many workers of this thread are awaited. A single one is read directly. */
static _Thread_local int awaited_count;

static void set_awaited(struct worker_frames *frames, bool awaited)
{
    awaited_count += (int)awaited - (int)frames->awaited;
    frames->awaited = awaited;
}

void worker_frames_stop(struct worker_frames *frames)
{
    frames->stopped = true;
    set_awaited(frames, false);
}

void worker_frames_init(struct worker_frames *frames, size_t frame_cap,
                        const struct worker_frames_listener *listener)
{
    frames->listener = *listener;
    frames->up_fd = -1;
    netstring_decoder_init(&frames->decoder, frame_cap);
}

void worker_frames_free(struct worker_frames *frames)
{
    netstring_decoder_free(&frames->decoder);
    if (frames->up_fd >= 0)
        close(frames->up_fd);
}

void worker_frames_hang_up(struct worker_frames *frames)
{
    frames->down_closed = true;
}

/*
 * If a frame does not fit in the pipe, the two ends take turns for each pipeful; a larger pipe
 * needs fewer. Only for large frames, because Linux limits a user's pipes in total. If Linux
 * refuses, the pipe stays as it is.
 */
static void enlarge_frame_pipe(int fd, size_t frame, bool *large)
{
    if (*large || frame <= PIPE_SIZE)
        return;
    *large = true;
    (void)fcntl(fd, F_SETPIPE_SZ, LARGE_PIPE_SIZE);
}

/* ---- frames up ---- */

static void up_closed(struct worker_frames *frames)
{
    struct error error;

    (void)uv_poll_stop(&frames->up);
    frames->up_ended = true;
    set_awaited(frames, false);
    if (!frames->garbled && !netstring_between_frames(&frames->decoder)) {
        error_set(&error, ERROR_INPUT, "it ended inside a frame");
        frames->listener.bad_frame(frames->listener.context, &error);
    }
    frames->listener.ended(frames);
}

/* Returns true if the frame was whole and has been reported. */
static bool report_decoded(struct worker_frames *frames, enum netstring_result decoded,
                           struct iovec frame, struct stamp come, const struct error *error)
{
    if (decoded == NETSTRING_FRAME) {
        set_awaited(frames, false);
        frames->listener.frame(frames->listener.context, frame, come);
    } else if (decoded == NETSTRING_BAD) {
        frames->garbled = true;
        set_awaited(frames, false);
        frames->listener.bad_frame(frames->listener.context, error);
    }
    return decoded == NETSTRING_FRAME;
}

/* Reports all frames in the input. */
static void take_frames(struct worker_frames *frames, size_t length, struct stamp come)
{
    const char *bytes = frames->input;
    bool more = true;

    while (more && length > 0 && !frames->garbled) {
        enum netstring_result decoded;
        struct iovec frame;
        struct error error;
        size_t used;

        decoded = netstring_decode(&frames->decoder, bytes, length, &used, &frame, &error);
        if (decoded == NETSTRING_MORE)
            enlarge_frame_pipe(frames->up_fd, frames->decoder.length, &frames->up_large);
        /* The worker sent more before it was answered: reject both frames. */
        if (decoded == NETSTRING_FRAME && used < length) {
            error_set(&error, ERROR_INPUT, "it sent a frame before it was answered");
            decoded = NETSTRING_BAD;
        }
        more = report_decoded(frames, decoded, frame, come, &error);
        bytes += used;
        length -= used;
    }
}

/* Reads once, if the pipe is readable or nothing else is awaited. Drops what follows a bad frame.
 * Returns false if nothing came. */
static bool read_up(struct worker_frames *frames,
                    ssize_t (*read_some)(int fd, void *bytes, size_t size))
{
    struct iovec place = {.iov_base = frames->input, .iov_len = sizeof frames->input};
    bool straight = !frames->garbled && netstring_rest(&frames->decoder, &place);
    ssize_t length = read_some(frames->up_fd, place.iov_base, place.iov_len);
    /* After a frame that was sent just now, one clock is enough. */
    struct stamp come = frames->awaited ? stamp_after(frames->sent) : stamp_now();

    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (length <= 0) {
        up_closed(frames);
    } else if (straight) {
        struct iovec frame = {0};
        struct error error;
        enum netstring_result decoded =
            netstring_take_rest(&frames->decoder, (size_t)length, &frame, &error);

        (void)report_decoded(frames, decoded, frame, come, &error);
    } else {
        take_frames(frames, (size_t)length, come);
    }
    return true;
}

static void up_readable(uv_poll_t *poll, int status, int events)
{
    struct worker_frames *frames =
        (struct worker_frames *)((char *)poll - offsetof(struct worker_frames, up));

    (void)status;
    (void)events;
    frames->slow = frames->needs_loop = false;
    (void)read_up(frames, read);
}

/* Nothing that the loop has to do for this worker stands in the way of waiting for it. */
static bool may_wait_directly(const struct worker_frames *frames)
{
    return frames->awaited && awaited_count == 1 && !frames->slow && !frames->needs_loop &&
           !frames->stopped && !frames->up_ended && !frames->down_closed &&
           uv_stream_get_write_queue_size((const uv_stream_t *)&frames->down) == 0;
}

/* While frames are read directly: the worker's write need not wake the loop. */
static void stop_polling_up(struct worker_frames *frames)
{
    if (uv_is_active((uv_handle_t *)&frames->up))
        (void)uv_poll_stop(&frames->up);
}

static void poll_up(struct worker_frames *frames)
{
    /* Cannot fail: it was started before. */
    if (!uv_is_active((uv_handle_t *)&frames->up) && !frames->up_ended && !frames->stopped)
        (void)uv_poll_start(&frames->up, UV_READABLE, up_readable);
}

/* Watching again takes three system calls. No worker can miss anything until the loop returns:
 * none is awaited, so the prepare callbacks that follow read nothing that would change that. */
static bool loop_returns_at_once(const uv_loop_t *loop)
{
    return awaited_count == 0 && uv_loop_alive(loop) && uv_backend_timeout(loop) == 0;
}

/*
 * Called before the loop waits: reads a worker's frames directly while nothing else is awaited.
 * Handling a frame usually sends the next one.
 */
static void wait_directly(uv_prepare_t *prepare)
{
    struct worker_frames *frames =
        (struct worker_frames *)((char *)prepare - offsetof(struct worker_frames, before_poll));

    if (may_wait_directly(frames) && direct_read_begin()) {
        stop_polling_up(frames);
        while (may_wait_directly(frames) && !direct_read_due())
            frames->slow = !read_up(frames, direct_read);
    }
    if (!loop_returns_at_once(prepare->loop))
        poll_up(frames);
}

void worker_frames_await(struct worker_frames *frames)
{
    set_awaited(frames, !frames->up_ended && !frames->garbled && !frames->stopped);
}

void worker_frames_use_loop(struct worker_frames *frames)
{
    frames->needs_loop = true;
}

bool worker_frames_read(struct worker_frames *frames)
{
    if (!may_wait_directly(frames) || direct_read_due() || !direct_read_begin())
        return false;
    stop_polling_up(frames);
    frames->slow = !read_up(frames, direct_read);
    return true;
}

/* libuv expects a descriptor that does not block. With one reader, which reads once when the pipe
 * is readable, blocking makes no difference to the loop. */
int worker_frames_open_up(struct worker_frames *frames, uv_loop_t *loop, int fd, void *data,
                          int *opened)
{
    int result = uv_poll_init(loop, &frames->up, fd);

    if (result != 0)
        return result;
    frames->up.data = data;
    (*opened)++;
    frames->up_fd = fd;
    if (fcntl(fd, F_SETFL, 0) != 0)
        return uv_translate_sys_error(errno);
    (void)uv_prepare_init(loop, &frames->before_poll); /* cannot fail in any libuv 1 */
    frames->before_poll.data = data;
    (*opened)++;
    uv_unref((uv_handle_t *)&frames->before_poll);
    return uv_prepare_start(&frames->before_poll, wait_directly);
}

int worker_frames_start(struct worker_frames *frames)
{
    return uv_poll_start(&frames->up, UV_READABLE, up_readable);
}

void worker_frames_finish(struct worker_frames *frames)
{
    int waiting = 0;

    while (!frames->up_ended && ioctl(frames->up_fd, FIONREAD, &waiting) == 0 && waiting > 0)
        (void)read_up(frames, read);
    if (!frames->up_ended)
        up_closed(frames);
}

/* ---- frames down ---- */

/* The part of a frame that did not fit in the pipe. */
struct rest {
    uv_write_t request;
    char bytes[];
};

static void rest_written(uv_write_t *request, int status)
{
    /* A failure means that the worker has ended, which gone() reports. */
    (void)status;
    free(request->data);
}

static int send_rest(struct worker_frames *frames, const uv_buf_t *pieces, unsigned count,
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
    if (uv_write(&rest->request, (uv_stream_t *)&frames->down, &buffer, 1, rest_written) != 0)
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

/* Returns true if the pipe takes more after a short wait. Does not wait while other workers are
 * awaited, if this one does not read, or if the loop has to write an earlier part first. */
static bool wait_for_pipe_space(const struct worker_frames *frames, int fd)
{
    struct pollfd pipe = {.fd = fd, .events = POLLOUT};

    if (uv_stream_get_write_queue_size((const uv_stream_t *)&frames->down) > 0)
        return false;
    return frames->awaited && awaited_count == 1 && poll(&pipe, 1, WRITE_TIMEOUT_MS) == 1;
}

/* Writes as much as the pipe takes; *left is what remains. */
static void write_pieces(struct worker_frames *frames, uv_buf_t **pieces, unsigned *count,
                         size_t *left)
{
    uv_os_fd_t fd = -1;

    (void)uv_fileno((uv_handle_t *)&frames->down, &fd); /* cannot fail: it is open */
    enlarge_frame_pipe(fd, *left, &frames->down_large);
    for (;;) {
        int written = uv_try_write((uv_stream_t *)&frames->down, *pieces, *count);

        if (written < 0 && written != UV_EAGAIN)
            *left = 0; /* the worker has ended, which gone() reports */
        if (written > 0) {
            *left -= (size_t)written;
            if (*left > 0)
                skip_written(pieces, count, (size_t)written);
        }
        if (*left == 0 || !wait_for_pipe_space(frames, fd))
            return;
    }
}

int worker_frames_send(struct worker_frames *frames, const struct iovec *parts, int count,
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
    *sent = frames->sent = stamp_now();
    if (frames->down_closed)
        return 0;
    set_awaited(frames, !frames->up_ended && !frames->garbled);
    write_pieces(frames, &pieces, &piece_count, &left);
    return left == 0 ? 0 : send_rest(frames, pieces, piece_count, left, error);
}
