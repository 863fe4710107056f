/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_WORKER_PROCESS_H
#define GASPIPE_SUPERVISOR_PROCESS_WORKER_PROCESS_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include <uv.h>

#include "base/error.h"
#include "base/stamp.h"
#include "supervisor/process/zygote.h"

/*
 * One worker's process and its three pipes on the loop: frames down, frames up, and the lines that
 * it prints. Knows nothing of vats.
 */
struct worker_process;

/* The descriptor from which a worker reads the snapshot that it starts from, and its option. */
#define WORKER_SNAPSHOT_FD    6
#define WORKER_SNAPSHOT_PLACE "@6"

/* The pipe into which a worker writes a snapshot, and its name in the command. */
#define WORKER_SAVE_FD    7
#define WORKER_SAVE_PLACE "@7"

/* The memory that a traced worker shares with its tracer; or the file into which the counter of a
 * profiled one writes. */
#define WORKER_TRACE_FD 8

/*
 * Limits on the lines that a worker prints. Beyond them it is still read, so that it does not
 * block, but lines are dropped: above the rate until it slows down, above the total until it ends.
 * A line says how much was dropped.
 */
enum {
    WORKER_STDERR_LINE = 1024,     /* bytes; a longer line comes in pieces */
    WORKER_STDERR_RATE = 64 << 10, /* bytes a second, and as many at once */
    WORKER_STDERR_TOTAL = 1 << 20, /* bytes in a worker's life */
};

/* How to start it. Everything is borrowed for the call. */
struct worker_launch {
    const char *path;
    char *const *arguments;         /* argv; ends with NULL */
    const char *const *environment; /* ends with NULL */
    int program_fd;                 /* becomes GUEST_PROGRAM_FD in the worker; -1: none */
    int snapshot_fd;                /* becomes WORKER_SNAPSHOT_FD in the worker; -1: none */
    int trace_fd;                   /* becomes WORKER_TRACE_FD in the worker; 0: none */
    size_t frame_cap;               /* bytes; a longer frame from it is bad */
    uint64_t memory_limit;          /* bytes that it may write to (RLIMIT_DATA); 0: no limit */
    uint64_t address_limit;         /* bytes of addresses (RLIMIT_AS); 0: the sandbox's limit */
    const char *group; /* the control group that it enters and that ends with it; NULL or "" */
    /* Forks it; only `frame_cap`, `memory_limit` and `name` are used then. NULL: it is executed. */
    struct zygote *zygote;
    const char *name; /* that ps(1) shows of one that `zygote` forks */
};

/* Its events, from within the loop. */
struct worker_listener {
    void *context;
    /* A frame, borrowed for the call, and when its last byte had come. */
    void (*frame)(void *context, struct iovec frame, struct stamp come);
    /* It sent something that is not a frame; nothing more is read. */
    void (*bad_frame)(void *context, const struct error *error);
    /* A line, or the piece of a long one, from its stdout or stderr; WORKER_STDERR_RATE
     * says what is left out. */
    void (*stderr_line)(void *context, const char *line);
    /*
     * The process has exited and its pipes are read to the end: the last call.
     * signal_number is 0 when it exited by itself.
     */
    void (*gone)(void *context, int exit_status, int signal_number);
};

/*
 * NULL with ERROR_SYSTEM when it cannot be started. Owned by the caller:
 * worker_process_free() after gone() was called.
 */
struct worker_process *worker_process_start(uv_loop_t *loop, const struct worker_launch *launch,
                                            const struct worker_listener *listener,
                                            struct error *error);

/* Starts a zygote like a worker; the arguments say that it is one. NULL with ERROR_SYSTEM. */
struct zygote *worker_process_start_zygote(const struct worker_launch *launch, struct error *error);

/*
 * Sends one frame of at most NETSTRING_PARTS_MAX parts, borrowed for the call; what does not fit in
 * the pipe follows from the loop. *sent is the moment before the first byte. A worker that has
 * ended is no error here: gone() reports it. -1 if out of memory.
 */
int worker_process_send(struct worker_process *process, const struct iovec *parts, int count,
                        struct stamp *sent, struct error *error);

/* Another frame will come, although none was sent since the last one. */
void worker_process_await(struct worker_process *process);

/*
 * Reads from the worker, and waits for that, without the loop, which costs several system calls a
 * frame; calls frame() for what came. Returns false at once if the loop has to run now.
 */
bool worker_process_read(struct worker_process *process);

/* Lets it run on these CPUs, if Linux allows that. */
void worker_process_place(const struct worker_process *process, const cpu_set_t *set);

/* The same for all workers that this thread has started. */
void worker_process_place_all(const cpu_set_t *set);

/* How long it waited for a CPU, as base/cpu_wait.h. */
int64_t worker_process_begin_cpu_wait(struct worker_process *process);
int64_t worker_process_end_cpu_wait(struct worker_process *process, int64_t before, int64_t began,
                                    int64_t ended);

/* Calls stderr_line() for what has been printed up to now. */
void worker_process_read_stderr(struct worker_process *process);

/* Call it before the worker is asked for a snapshot at WORKER_SAVE_PLACE. -1 with ERROR_SYSTEM. */
int worker_process_begin_snapshot(struct worker_process *process, struct error *error);

/*
 * Call it when the worker has written one. Returns a file in memory that no worker can reach, the
 * caller's, at its beginning; or -1 with ERROR_SYSTEM, or with ERROR_INPUT if the snapshot was
 * longer than the memory that the worker may have.
 */
int worker_process_end_snapshot(struct worker_process *process, struct error *error);

/* Closes the pipe down, on which an idle worker ends. */
void worker_process_hang_up(struct worker_process *process);

/* gone() follows. */
void worker_process_kill(struct worker_process *process);

/* Gives everything back, as soon as the loop has closed it. */
void worker_process_free(struct worker_process *process);

#endif
