/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_THREADS_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "trace/memory.h"

/* Reasons why a process cannot be traced, as far as the system reports them. */
struct trace_obstacles {
    int seccomp;       /* mode; 0: the process is not confined */
    uint64_t ignored;  /* signals: bit N-1 for signal N */
    bool shadow_stack; /* of CET: it would not return through a trampoline */
    pid_t tracer;      /* that traces it already; 0: none */
    int64_t user;      /* its owner; -1: not known */
    int yama;          /* kernel.yama.ptrace_scope; 0 also without Yama */
};

/* Reads the text of /proc/PID/status; leaves members that it does not contain. */
void trace_obstacles_read_status(struct trace_obstacles *obstacles, const char *status);

/* Reads a process's obstacles. -1 with ERROR_INPUT: no such process. */
int trace_obstacles_read(struct trace_obstacles *obstacles, pid_t process, struct error *error);

/* -1 with ERROR_INPUT if no agent can be loaded into the process, or no function patched. */
int trace_obstacles_check(const struct trace_obstacles *obstacles, pid_t process,
                          struct error *error);

/* Call it when ptrace(2) has failed with `errnum`. Returns -1 with ERROR_INPUT, one line that says
 * why and what to do. `own` is the caller's user. */
int trace_obstacles_refuse(const struct trace_obstacles *obstacles, pid_t process, int errnum,
                           int64_t own, struct error *error);

/* All threads of another process, stopped by ptrace(2). */
struct trace_thread {
    pid_t id;
    uint64_t held; /* signals that stopped it and are not delivered yet: bit N-1 for signal N */
};

struct trace_threads {
    pid_t process;
    struct trace_thread *list; /* the first is the main thread */
    size_t count, capacity;    /* threads that end are taken off */
};

/* 0, or -1 with ERROR_INPUT: no such process, it is another user's, it is traced already, or the
 * system forbids it; the process then continues as before. */
int trace_threads_stop(struct trace_threads *threads, pid_t process, struct error *error);

/* Lets all threads continue, with the signals that stopped them. */
void trace_threads_release(struct trace_threads *threads);

/* Steps each thread out of the bytes of patches. 1: a thread is in a signal handler that returns
 * into them: try again later. */
int trace_threads_leave(struct trace_threads *threads, const struct trace_patch *patches,
                        size_t count, struct error *error);

/*
 * Makes a thread call a function of its process with two arguments, and returns its result. If
 * `text` is not NULL, it is the first argument that is 0. Meanwhile the other threads continue, as
 * they may hold locks, and `wait` is called every millisecond. Afterwards all threads are stopped.
 * 0, or -1 with the error; 1: each thread may hold a lock itself: try again later.
 */
struct trace_injection {
    uint64_t function, first, second;
    uint64_t instruction; /* the address of a `syscall` in the process */
    const char *text;
    int (*wait)(void *context, struct error *error);
    void *context;
};
int trace_threads_call(struct trace_threads *threads, const struct trace_injection *injection,
                       uint64_t *result, struct error *error);

#endif
