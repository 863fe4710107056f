/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "proto/netstring.h"
#include "supervisor/direct_read.h"
#include "supervisor/guest.h"

enum {
    INPUT_SIZE = 64 * 1024,
    WORDS_SIZE = 1024,
    FRAMES_DOWN_FD = 3,
    FRAMES_UP_FD = 4,
    PIPE_SIZE = 64 * 1024,     /* as pipe(2) makes them */
    LARGE_PIPE_SIZE = 1 << 20, /* the most that anybody may have (pipe(7), pipe-max-size) */
    WRITE_PATIENCE_MS = 10,
};

struct worker_process {
    struct worker_listener listener;
    uv_process_t process;
    uv_pipe_t down, words;
    uv_poll_t up;
    uv_prepare_t before_poll;
    int up_fd; /* in blocking mode; read when there is something, or directly */
    struct netstring_decoder decoder;
    int handles_open;
    bool reaped, up_ended, words_ended, down_closed, freed;
    bool awaited; /* a frame was sent, and none has come since */
    bool slow;    /* it did not answer while it was waited for directly */
    bool down_large, up_large;
    bool garbled; /* a frame was bad: what follows is no frame */
    int exit_status, signal_number;
    char line[WORDS_SIZE]; /* what was printed of a line that has not ended */
    size_t line_length;
    char input[INPUT_SIZE];
};

/* How many processes of this thread are awaited. Of a single one it is read directly. */
static _Thread_local int awaited_count;

static void set_awaited(struct worker_process *process, bool awaited)
{
    awaited_count += (int)awaited - (int)process->awaited;
    process->awaited = awaited;
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

/* ---- the end ---- */

static void handle_closed(uv_handle_t *handle)
{
    struct worker_process *process = handle->data;

    process->handles_open--;
    if (process->handles_open > 0 || !process->freed)
        return;
    netstring_decoder_free(&process->decoder);
    if (process->up_fd >= 0)
        close(process->up_fd);
    free(process);
}

static void close_handle(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, handle_closed);
}

static void tell_when_gone(struct worker_process *process)
{
    if (process->reaped && process->up_ended && process->words_ended)
        process->listener.gone(process->listener.context, process->exit_status,
                               process->signal_number);
}

static void process_exited(uv_process_t *handle, int64_t exit_status, int signal_number)
{
    struct worker_process *process = handle->data;

    process->reaped = true;
    process->exit_status = (int)exit_status;
    process->signal_number = signal_number;
    tell_when_gone(process);
}

void worker_process_kill(struct worker_process *process)
{
    /* All of its session: a child of it that held the pipes would keep gone() from
     * being called. ESRCH: it is gone already, and process_exited() tells or has told so. */
    if (!process->reaped)
        (void)kill(-process->process.pid, SIGKILL);
}

void worker_process_hang_up(struct worker_process *process)
{
    process->down_closed = true;
    close_handle(&process->down);
}

void worker_process_free(struct worker_process *process)
{
    process->freed = true;
    set_awaited(process, false);
    close_handle(&process->down);
    close_handle(&process->up);
    close_handle(&process->before_poll);
    close_handle(&process->words);
    close_handle(&process->process);
}

/* ---- what it prints ---- */

static void end_line(struct worker_process *process)
{
    process->line[process->line_length] = '\0';
    if (process->line_length > 0)
        process->listener.words(process->listener.context, process->line);
    process->line_length = 0;
}

static void take_words(struct worker_process *process, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n' || process->line_length == sizeof process->line - 1)
            end_line(process);
        if (bytes[i] != '\n' && bytes[i] != '\0')
            process->line[process->line_length++] = bytes[i];
    }
}

static void allocate_words(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char bytes[4096]; /* used up within the read that follows */

    (void)handle;
    (void)suggested;
    *buffer = uv_buf_init(bytes, sizeof bytes);
}

static void words_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct worker_process *process = stream->data;

    if (length >= 0) {
        take_words(process, buffer->base, (size_t)length);
        return;
    }
    end_line(process);
    uv_read_stop(stream);
    process->words_ended = true;
    tell_when_gone(process);
}

void worker_process_read_words(struct worker_process *process)
{
    char bytes[1024];
    ssize_t length;
    uv_os_fd_t fd;

    if (process->words_ended || uv_fileno((uv_handle_t *)&process->words, &fd) != 0)
        return;
    /* The descriptor does not block; the end of file is left to the loop, which
     * meets it again. */
    while ((length = read(fd, bytes, sizeof bytes)) > 0 || (length < 0 && errno == EINTR))
        take_words(process, bytes, length > 0 ? (size_t)length : 0);
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
    tell_when_gone(process);
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
    struct stamp come = stamp_now();

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
 * are, nor when it is full because nobody reads. */
static bool wait_for_room(const struct worker_process *process, int fd)
{
    struct pollfd pipe = {.fd = fd, .events = POLLOUT};

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
    *sent = stamp_now();
    if (process->down_closed)
        return 0;
    set_awaited(process, !process->up_ended && !process->garbled);
    write_pieces(process, &pieces, &piece_count, &left);
    return left == 0 ? 0 : send_rest(process, pieces, piece_count, left, error);
}

/* ---- the start ---- */

/* Both ends of a pipe; [0] reads. Real pipes: libuv's own are sockets, which
 * take longer. */
static int open_pipe(int ends[2], struct error *error)
{
    if (pipe2(ends, O_CLOEXEC) == 0)
        return 0;
    ends[0] = ends[1] = -1;
    return error_system(error, errno, "cannot make a pipe to a worker");
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static int init_pipe(struct worker_process *process, uv_loop_t *loop, uv_pipe_t *pipe, int fd)
{
    int result = uv_pipe_init(loop, pipe, 0);

    if (result != 0)
        return result;
    pipe->data = process;
    process->handles_open++;
    return uv_pipe_open(pipe, fd);
}

/*
 * Starts the process with its memory laid out at fixed addresses. The setting
 * is inherited, so it is set here around the start; where it is not allowed
 * (some containers) QEMU's own layout is fixed all the same.
 */
static int spawn_fixed_layout(uv_loop_t *loop, uv_process_t *process,
                              const uv_process_options_t *options)
{
    int before = personality(0xffffffff);
    int result;

    if (before >= 0)
        (void)personality((unsigned long)before | ADDR_NO_RANDOMIZE);
    result = uv_spawn(loop, process, options);
    if (before >= 0)
        (void)personality((unsigned long)before);
    return result;
}

/* How the process gets a descriptor; -1: not at all. */
static uv_stdio_container_t container_of_fd(int fd)
{
    if (fd < 0)
        return (uv_stdio_container_t){.flags = UV_IGNORE};
    return (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = fd};
}

static int spawn(struct worker_process *process, uv_loop_t *loop,
                 const struct worker_launch *launch, const int fds[3], struct error *error)
{
    uv_stdio_container_t stdio[WORKER_SNAPSHOT_FD + 1] = {
        [0] = {.flags = UV_IGNORE},
        [1] = {.flags = UV_INHERIT_FD, .data.fd = fds[2]},
        [2] = {.flags = UV_INHERIT_FD, .data.fd = fds[2]},
        [FRAMES_DOWN_FD] = {.flags = UV_INHERIT_FD, .data.fd = fds[0]},
        [FRAMES_UP_FD] = {.flags = UV_INHERIT_FD, .data.fd = fds[1]},
        [GUEST_PROGRAM_FD] = container_of_fd(launch->program_fd),
        [WORKER_SNAPSHOT_FD] = container_of_fd(launch->snapshot_fd),
    };
    uv_process_options_t options = {
        .exit_cb = process_exited,
        .file = launch->path,
        .args = (char **)launch->arguments,
        .env = (char **)launch->environment,
        .cwd = "/",
        /* In a session of its own: an interrupt at the terminal reaches the
         * supervisor alone, which then ends its workers. */
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = WORKER_SNAPSHOT_FD + 1,
        .stdio = stdio,
    };
    int result = spawn_fixed_layout(loop, &process->process, &options);

    process->process.data = process;
    process->handles_open++;
    if (result != 0)
        return error_set(error, ERROR_SYSTEM, "cannot start the worker %s: %s", launch->path,
                         uv_strerror(result));
    return 0;
}

/* libuv would have the descriptor not block; with one reader, and reading once when there
 * is something, blocking is the same to the loop. */
static int init_up(struct worker_process *process, uv_loop_t *loop, int fd)
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

/* Gives our ends to the loop. An end that a handle took over becomes -1. */
static int open_handles(struct worker_process *process, uv_loop_t *loop, int *down, int *up,
                        int *words, struct error *error)
{
    int result = init_pipe(process, loop, &process->down, *down);

    if (result == 0) {
        *down = -1;
        result = init_pipe(process, loop, &process->words, *words);
    }
    if (result == 0) {
        *words = -1;
        result = init_up(process, loop, *up);
        *up = process->up_fd >= 0 ? -1 : *up;
    }
    if (result == 0)
        return 0;
    return error_set(error, ERROR_SYSTEM, "cannot open a pipe to a worker: %s",
                     uv_strerror(result));
}

static int start_reading(struct worker_process *process, struct error *error)
{
    int result = uv_poll_start(&process->up, UV_READABLE, up_readable);

    if (result == 0)
        result = uv_read_start((uv_stream_t *)&process->words, allocate_words, words_read);
    if (result != 0)
        return error_set(error, ERROR_SYSTEM, "cannot read from a worker: %s", uv_strerror(result));
    return 0;
}

/* A process that never came to be is freed like one that has gone; its owner
 * is not told. */
static void abandon(struct worker_process *process)
{
    uv_handle_t *const handles[] = {
        (uv_handle_t *)&process->down,        (uv_handle_t *)&process->up,
        (uv_handle_t *)&process->before_poll, (uv_handle_t *)&process->words,
        (uv_handle_t *)&process->process,
    };

    worker_process_kill(process);
    process->freed = true;
    if (process->handles_open == 0)
        free(process);
    else
        for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++)
            if (handles[i]->data == process)
                close_handle(handles[i]);
}

struct worker_process *worker_process_start(uv_loop_t *loop, const struct worker_launch *launch,
                                            const struct worker_listener *listener,
                                            struct error *error)
{
    struct worker_process *process = calloc(1, sizeof *process);
    int down[2] = {-1, -1}, up[2] = {-1, -1}, words[2] = {-1, -1};
    bool started = false;

    if (process == NULL) {
        error_memory(error, "a worker");
        return NULL;
    }
    process->listener = *listener;
    process->reaped = true; /* until there is one to reap */
    process->up_fd = -1;
    netstring_decoder_init(&process->decoder, launch->frame_cap);
    if (open_pipe(down, error) == 0 && open_pipe(up, error) == 0 && open_pipe(words, error) == 0 &&
        open_handles(process, loop, &down[1], &up[0], &words[0], error) == 0 &&
        spawn(process, loop, launch, (int[]){down[0], up[1], words[1]}, error) == 0) {
        process->reaped = false;
        started = start_reading(process, error) == 0;
    }
    for (int end = 0; end < 2; end++) {
        close_fd(down[end]);
        close_fd(up[end]);
        close_fd(words[end]);
    }
    if (started)
        return process;
    abandon(process);
    return NULL;
}
