/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/process/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cpu_wait.h"
#include "sandbox/control_group.h"
#include "supervisor/process/child_process.h"
#include "supervisor/process/guest.h"
#include "supervisor/process/snapshot_pipe.h"
#include "supervisor/process/worker_frames.h"

enum {
    FRAMES_DOWN_FD = 3,
    FRAMES_UP_FD = 4,
};

/* Bytes in a snapshot. */
static const uint64_t SNAPSHOT_CAP = 4ULL << 30;

/* ---- the lines that it prints ---- */

struct worker_stderr {
    void (*report)(void *context, const char *line);
    void *context;
    int64_t allowance; /* bytes that may be reported now */
    int64_t refilled;  /* when that was computed: nanoseconds, monotonic */
    uint64_t reported; /* bytes */
    uint64_t dropped;  /* bytes, since the last line was reported */
    bool over;         /* the total was reached, and that was reported */
    size_t length;     /* of the line so far */
    char line[WORKER_STDERR_LINE];
};

static const int64_t NANOSECONDS = 1000000000;

static void worker_stderr_init(struct worker_stderr *from,
                               void (*report)(void *context, const char *line), void *context)
{
    from->report = report;
    from->context = context;
    from->allowance = WORKER_STDERR_RATE;
    from->refilled = from->reported = from->dropped = 0;
    from->over = false;
    from->length = 0;
}

static void refill_allowance(struct worker_stderr *from, int64_t now)
{
    const int64_t passed = now - from->refilled;
    const int64_t more = passed < NANOSECONDS ? passed * WORKER_STDERR_RATE / NANOSECONDS
                                              : (int64_t)WORKER_STDERR_RATE;

    /* Less time than for one byte stays uncounted until later. */
    if (more <= 0)
        return;
    from->refilled = now;
    from->allowance += more;
    if (from->allowance > WORKER_STDERR_RATE)
        from->allowance = WORKER_STDERR_RATE;
}

static void report_dropped(struct worker_stderr *from)
{
    char note[96];

    snprintf(note, sizeof note, "(%" PRIu64 " bytes that it printed too fast are left out)",
             from->dropped);
    from->report(from->context, note);
    from->dropped = 0;
}

static void report_over(struct worker_stderr *from)
{
    char note[96];

    snprintf(note, sizeof note, "(it printed more than %d bytes; what follows is left out)",
             (int)WORKER_STDERR_TOTAL);
    from->report(from->context, note);
    from->over = true;
}

static void end_stderr_line(struct worker_stderr *from, int64_t now)
{
    const size_t length = from->length;

    from->length = 0;
    if (length == 0 || from->over)
        return;
    if (from->reported + length > WORKER_STDERR_TOTAL) {
        report_over(from);
        return;
    }
    refill_allowance(from, now);
    if (from->allowance < (int64_t)length) {
        from->dropped += length;
        return;
    }
    if (from->dropped > 0)
        report_dropped(from);
    from->allowance -= (int64_t)length;
    from->reported += length;
    from->line[length] = '\0';
    from->report(from->context, from->line);
}

static void worker_stderr_feed(struct worker_stderr *from, const char *bytes, size_t length,
                               int64_t now)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n' || from->length == sizeof from->line - 1)
            end_stderr_line(from, now);
        if (bytes[i] != '\n' && bytes[i] != '\0')
            from->line[from->length++] = bytes[i];
    }
}

static void worker_stderr_end(struct worker_stderr *from, int64_t now)
{
    end_stderr_line(from, now);
    if (from->dropped > 0)
        report_dropped(from);
}

/* ---- a worker ---- */

struct worker_process {
    struct worker_process *next, **link; /* among those that run */
    struct worker_listener listener;
    struct child_process child;
    struct worker_frames frames;
    struct worker_stderr printed;
    uv_pipe_t stderr_pipe;
    struct snapshot_pipe snapshots; /* what the worker writes to WORKER_SAVE_PLACE */
    struct cpu_wait cpu_wait;
    char group[PATH_MAX];
    int handles_open;
    bool exited, up_ended, stderr_ended, freed;
    int exit_status, signal_number;
};

/* The running workers of this thread. */
static _Thread_local struct worker_process *running;

static void list_running(struct worker_process *process)
{
    process->next = running;
    process->link = &running;
    if (process->next != NULL)
        process->next->link = &process->next;
    running = process;
}

static void unlist_running(struct worker_process *process)
{
    *process->link = process->next;
    if (process->next != NULL)
        process->next->link = process->link;
}

void worker_process_place(const struct worker_process *process, const cpu_set_t *set)
{
    /* If Linux refuses, the worker stays where it is. */
    if (!process->exited)
        (void)sched_setaffinity(process->child.pid, sizeof *set, set);
}

void worker_process_place_all(const cpu_set_t *set)
{
    for (struct worker_process *process = running; process != NULL; process = process->next)
        worker_process_place(process, set);
}

int64_t worker_process_begin_cpu_wait(struct worker_process *process)
{
    return process->exited ? -1 : cpu_wait_begin(&process->cpu_wait, process->child.pid);
}

int64_t worker_process_end_cpu_wait(struct worker_process *process, int64_t before, int64_t began,
                                    int64_t ended)
{
    return cpu_wait_end(&process->cpu_wait, before, began, ended);
}

/* Reports the end when nothing more can come. */
static void report_when_gone(struct worker_process *process)
{
    if (process->exited && process->up_ended && process->stderr_ended)
        process->listener.gone(process->listener.context, process->exit_status,
                               process->signal_number);
}

/* ---- what it prints ---- */

static void end_stderr(struct worker_process *process)
{
    worker_stderr_end(&process->printed, stamp_now().mono);
    uv_read_stop((uv_stream_t *)&process->stderr_pipe);
    process->stderr_ended = true;
}

static void allocate_stderr(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char bytes[4096]; /* used up within the read that follows */

    (void)handle;
    (void)suggested;
    *buffer = uv_buf_init(bytes, sizeof bytes);
}

static void stderr_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct worker_process *process = stream->data;

    if (length >= 0) {
        worker_stderr_feed(&process->printed, buffer->base, (size_t)length, stamp_now().mono);
        return;
    }
    end_stderr(process);
    report_when_gone(process);
}

/* At most what the pipe can hold: a worker that prints without end does not hold this up. */
void worker_process_read_stderr(struct worker_process *process)
{
    enum { PIPE_SIZE = 64 * 1024 };
    const int64_t now = stamp_now().mono;
    size_t total = 0;
    char bytes[4096];
    ssize_t length;
    uv_os_fd_t fd;

    if (process->stderr_ended || uv_fileno((uv_handle_t *)&process->stderr_pipe, &fd) != 0)
        return;
    /* The descriptor does not block; the end of file is left to the loop, which
     * meets it again. */
    while (total < PIPE_SIZE &&
           ((length = read(fd, bytes, sizeof bytes)) > 0 || (length < 0 && errno == EINTR))) {
        if (length > 0) {
            worker_stderr_feed(&process->printed, bytes, (size_t)length, now);
            total += (size_t)length;
        }
    }
}

/* ---- its frames ---- */

/* A worker that closed its pipe cannot say anything more: it is killed if it does not exit itself.
 */
static void on_frames_ended(struct worker_frames *frames)
{
    struct worker_process *process =
        (struct worker_process *)((char *)frames - offsetof(struct worker_process, frames));

    process->up_ended = true;
    worker_process_kill(process);
    report_when_gone(process);
}

int worker_process_send(struct worker_process *process, const struct iovec *parts, int count,
                        struct stamp *sent, struct error *error)
{
    return worker_frames_send(&process->frames, parts, count, sent, error);
}

void worker_process_await(struct worker_process *process)
{
    worker_frames_await(&process->frames);
}

bool worker_process_read(struct worker_process *process)
{
    return worker_frames_read(&process->frames);
}

/* ---- the end ---- */

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void free_worker_process(struct worker_process *process)
{
    worker_frames_free(&process->frames);
    snapshot_pipe_free(&process->snapshots);
    if (process->child.pidfd >= 0)
        child_process_free(&process->child);
    cpu_wait_close(&process->cpu_wait);
    free(process);
}

static void on_worker_handle_closed(uv_handle_t *handle)
{
    struct worker_process *process = handle->data;

    process->handles_open--;
    if (process->handles_open == 0 && process->freed)
        free_worker_process(process);
}

/* A handle that was never opened has no `data`. */
static void close_handle(void *handle)
{
    const uv_handle_t *known = handle;

    if (known->data != NULL && !uv_is_closing(handle))
        uv_close(handle, on_worker_handle_closed);
}

static void process_ended(struct child_process *child, int exit_status, int signal_number)
{
    struct worker_process *process = child->end.data;
    const bool frames_ended = process->up_ended;

    process->exited = true;
    unlist_running(process);
    process->exit_status = exit_status;
    process->signal_number = signal_number;
    /* Its children end, too. ESRCH: it had none. */
    (void)kill(-child->pid, SIGKILL);
    control_group_end(process->group);
    worker_process_read_stderr(process);
    end_stderr(process);
    if (frames_ended)
        report_when_gone(process);
    else
        worker_frames_finish(&process->frames);
}

void worker_process_kill(struct worker_process *process)
{
    /* All of its group: a child of it that held the pipes would keep gone() from
     * being called. ESRCH: it has ended, which process_ended() reports. */
    if (!process->exited)
        (void)kill(-process->child.pid, SIGKILL);
}

void worker_process_hang_up(struct worker_process *process)
{
    worker_frames_hang_up(&process->frames);
    close_handle(&process->frames.down);
}

void worker_process_free(struct worker_process *process)
{
    process->freed = true;
    worker_frames_stop(&process->frames);
    close_handle(&process->frames.down);
    close_handle(&process->frames.up);
    close_handle(&process->frames.before_poll);
    close_handle(&process->stderr_pipe);
    close_handle(&process->snapshots.poll);
    close_handle(&process->child.end);
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

static int init_pipe(struct worker_process *process, uv_loop_t *loop, uv_pipe_t *pipe, int fd)
{
    int result = uv_pipe_init(loop, pipe, 0);

    if (result != 0)
        return result;
    pipe->data = process;
    process->handles_open++;
    return uv_pipe_open(pipe, fd);
}

/* A worker's descriptors; a zygote has only those that its workers share. */
enum { WORKER_FDS = WORKER_TRACE_FD + 1 };

/* In a process group of its own: an interrupt at the terminal reaches the supervisor alone,
 * which then ends its workers. */
static struct child_launch child_launch_of(const struct worker_launch *launch,
                                           const int fds[WORKER_FDS])
{
    return (struct child_launch){
        .path = launch->path,
        .arguments = launch->arguments,
        .environment = (char *const *)launch->environment,
        .fds = fds,
        .fd_count = launch->trace_fd > 0 ? WORKER_TRACE_FD + 1 : WORKER_SAVE_FD + 1,
        .directory = "/",
        .fixed_layout = true,
        .control_group = launch->group,
    };
}

static int spawn_worker(struct worker_process *process, uv_loop_t *loop,
                        const struct worker_launch *launch, const int pipes[FORK_REQUEST_FDS],
                        struct error *error)
{
    const int fds[WORKER_FDS] = {
        [0] = -1,
        [1] = pipes[FORK_REQUEST_PRINTED],
        [2] = pipes[FORK_REQUEST_PRINTED],
        [FRAMES_DOWN_FD] = pipes[FORK_REQUEST_DOWN],
        [FRAMES_UP_FD] = pipes[FORK_REQUEST_UP],
        [GUEST_PROGRAM_FD] = launch->program_fd,
        [WORKER_SNAPSHOT_FD] = launch->snapshot_fd,
        [WORKER_SAVE_FD] = pipes[FORK_REQUEST_SAVE],
        [WORKER_TRACE_FD] = launch->trace_fd > 0 ? launch->trace_fd : -1,
    };
    const struct child_launch child = child_launch_of(launch, fds);

    return child_process_start(&process->child, loop, &child, process_ended, error);
}

static int fork_worker(struct worker_process *process, uv_loop_t *loop,
                       const struct worker_launch *launch, const int pipes[FORK_REQUEST_FDS],
                       struct error *error)
{
    pid_t pid;

    if (zygote_fork(launch->zygote, launch->name, pipes, &pid, error) != 0)
        return -1;
    return child_process_adopt(&process->child, loop, pid, process_ended, error);
}

static int make_child(struct worker_process *process, uv_loop_t *loop,
                      const struct worker_launch *launch, const int pipes[FORK_REQUEST_FDS],
                      struct error *error)
{
    const int result = launch->zygote != NULL ? fork_worker(process, loop, launch, pipes, error)
                                              : spawn_worker(process, loop, launch, pipes, error);

    if (result != 0)
        return -1;
    process->child.end.data = process;
    process->handles_open++;
    return 0;
}

struct zygote *worker_process_start_zygote(const struct worker_launch *launch, struct error *error)
{
    const int fds[WORKER_FDS] = {
        [0] = -1,
        [GUEST_PROGRAM_FD] = launch->program_fd,
        [WORKER_SNAPSHOT_FD] = launch->snapshot_fd,
    };
    const struct child_launch child = child_launch_of(launch, fds);

    return zygote_start(&child, error);
}

/* Gives gaspipe's ends to the loop. An end that a handle took over becomes -1. */
static int open_worker_handles(struct worker_process *process, uv_loop_t *loop, int *down, int *up,
                               int *printed, struct error *error)
{
    int result = init_pipe(process, loop, &process->frames.down, *down);

    if (result == 0) {
        *down = -1;
        result = init_pipe(process, loop, &process->stderr_pipe, *printed);
    }
    if (result == 0) {
        *printed = -1;
        result =
            worker_frames_open_up(&process->frames, loop, *up, process, &process->handles_open);
        *up = process->frames.up_fd >= 0 ? -1 : *up;
    }
    if (result == 0)
        return 0;
    return error_set(error, ERROR_SYSTEM, "cannot open a pipe to a worker: %s",
                     uv_strerror(result));
}

static int limit_resource(const struct worker_process *process, __rlimit_resource_t resource,
                          uint64_t bytes, struct error *error)
{
    const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};

    if (bytes == 0 || prlimit(process->child.pid, resource, &limit, NULL) == 0)
        return 0;
    /* ESRCH: it has ended, which gone() reports. */
    return errno == ESRCH ? 0 : error_system(error, errno, "cannot limit a worker's memory");
}

/*
 * Memory that it reserves and does not write to, as XS and QEMU do by the gigabyte, is not
 * counted in RLIMIT_DATA. What it took before is; the next piece beyond the limit is refused.
 */
static int limit_memory(const struct worker_process *process, const struct worker_launch *launch,
                        struct error *error)
{
    if (limit_resource(process, RLIMIT_AS, launch->address_limit, error) != 0)
        return -1;
    return limit_resource(process, RLIMIT_DATA, launch->memory_limit, error);
}

int worker_process_begin_snapshot(struct worker_process *process, struct error *error)
{
    uv_loop_t *loop = uv_handle_get_loop((uv_handle_t *)&process->stderr_pipe);

    worker_frames_use_loop(&process->frames);
    return snapshot_pipe_begin(&process->snapshots, loop, process, &process->handles_open, error);
}

int worker_process_end_snapshot(struct worker_process *process, struct error *error)
{
    return snapshot_pipe_end(&process->snapshots, error);
}

static int start_reading(struct worker_process *process, struct error *error)
{
    int result = worker_frames_start(&process->frames);

    if (result == 0)
        result = uv_read_start((uv_stream_t *)&process->stderr_pipe, allocate_stderr, stderr_read);
    if (result != 0)
        return error_set(error, ERROR_SYSTEM, "cannot read from a worker: %s", uv_strerror(result));
    return 0;
}

/* A process that could not be started is freed like one that has ended; gone() is not called. */
static void abandon_process(struct worker_process *process)
{
    worker_process_kill(process);
    if (!process->exited)
        unlist_running(process);
    if (process->handles_open == 0)
        free_worker_process(process);
    else
        worker_process_free(process);
}

/* In bytes. A snapshot is no larger than the heap that it is made of. */
static uint64_t snapshot_cap(const struct worker_launch *launch)
{
    const uint64_t limit = launch->memory_limit;

    return limit > 0 && limit < SNAPSHOT_CAP ? limit : SNAPSHOT_CAP;
}

static struct worker_process *new_process(const struct worker_launch *launch,
                                          const struct worker_listener *listener)
{
    struct worker_process *process = calloc(1, sizeof *process);
    const struct worker_frames_listener frames = {
        .context = listener->context,
        .frame = listener->frame,
        .bad_frame = listener->bad_frame,
        .ended = on_frames_ended,
    };

    if (process == NULL)
        return NULL;
    process->listener = *listener;
    process->exited = true; /* until there is one to reap */
    process->child.pidfd = -1;
    snapshot_pipe_init(&process->snapshots, -1, snapshot_cap(launch));
    if (launch->group != NULL)
        snprintf(process->group, sizeof process->group, "%s", launch->group);
    worker_frames_init(&process->frames, launch->frame_cap, &frames);
    worker_stderr_init(&process->printed, listener->stderr_line, listener->context);
    return process;
}

struct worker_process *worker_process_start(uv_loop_t *loop, const struct worker_launch *launch,
                                            const struct worker_listener *listener,
                                            struct error *error)
{
    struct worker_process *process = new_process(launch, listener);
    int down[2] = {-1, -1}, up[2] = {-1, -1}, printed[2] = {-1, -1}, save[2] = {-1, -1};
    bool started = false;

    if (process == NULL) {
        error_memory(error, "a worker");
        return NULL;
    }
    if (open_pipe(save, error) == 0 && open_pipe(down, error) == 0 && open_pipe(up, error) == 0 &&
        open_pipe(printed, error) == 0 &&
        open_worker_handles(process, loop, &down[1], &up[0], &printed[0], error) == 0 &&
        make_child(process, loop, launch,
                   (int[]){[FORK_REQUEST_DOWN] = down[0],
                           [FORK_REQUEST_UP] = up[1],
                           [FORK_REQUEST_PRINTED] = printed[1],
                           [FORK_REQUEST_SAVE] = save[1]},
                   error) == 0) {
        process->exited = false;
        list_running(process);
        started = limit_memory(process, launch, error) == 0 && start_reading(process, error) == 0;
    }
    process->snapshots.fd = save[0];
    close_if_open(save[1]);
    for (int end = 0; end < 2; end++) {
        close_if_open(down[end]);
        close_if_open(up[end]);
        close_if_open(printed[end]);
    }
    if (started)
        return process;
    abandon_process(process);
    return NULL;
}
