/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_THREADS_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "trace/memory.h"

/* Why a process cannot be traced, as far as the system says so. */
struct trace_obstacles {
    int seccomp;       /* mode; 0: the process is not confined */
    bool shadow_stack; /* of CET: it would not return through a trampoline */
    pid_t tracer;      /* that traces it already; 0: nobody does */
    int64_t user;      /* to whom it belongs; -1: not known */
    int yama;          /* kernel.yama.ptrace_scope; 0 also where Linux has no Yama */
};

/* Reads the text of /proc/PID/status, where what is not known stays as it is. */
void trace_obstacles_read_status(struct trace_obstacles *obstacles, const char *status);

/* Those of a process. -1 with ERROR_INPUT: there is none. */
int trace_obstacles_read(struct trace_obstacles *obstacles, pid_t process, struct error *error);

/* -1 with ERROR_INPUT where no agent can be loaded into the process, or no function patched. */
int trace_obstacles_check(const struct trace_obstacles *obstacles, pid_t process,
                          struct error *error);

/* ptrace(2) has failed with this number: -1 with ERROR_INPUT, one line that says why and what to
 * do. `own` is the caller's user. */
int trace_obstacles_refuse(const struct trace_obstacles *obstacles, pid_t process, int errnum,
                           int64_t own, struct error *error);

/* All threads of another process, stopped by ptrace(2). */
struct trace_thread {
    pid_t id;
    uint64_t held; /* signals that it stopped for and has not got yet: bit N-1 for signal N */
};

struct trace_threads {
    pid_t process;
    struct trace_thread *list; /* the first is the main thread */
    size_t count, capacity;
};

/* 0, or -1 with ERROR_INPUT: there is no such process, it is another user's, somebody traces it,
 * or the system forbids it; all goes on as before then. */
int trace_threads_stop(struct trace_threads *threads, pid_t process, struct error *error);

/* Lets all go on as if nothing had been. */
void trace_threads_release(struct trace_threads *threads);

/* Has no thread stand within the bytes of a patch: it is stepped out of them. 1: it is in a
 * signal's handler, which returns into them: try again later. */
int trace_threads_leave(struct trace_threads *threads, const struct trace_patch *patches,
                        size_t count, struct error *error);

/*
 * Has the main thread call a function of its process with two arguments, the first being the text
 * where that is not NULL, and gives its result. Meanwhile the other threads go on, as they may
 * hold locks, and `wait` is called every millisecond. 0, or -1 with the error filled; 1: the thread
 * is where it may hold a lock itself: try again later.
 */
struct trace_injection {
    uint64_t function, first, second;
    const char *text;
    uint64_t text_begin, text_end; /* the program's own code, where it holds no library's lock */
    int (*wait)(void *context, struct error *error);
    void *context;
};
int trace_threads_call(struct trace_threads *threads, const struct trace_injection *injection,
                       uint64_t *result, struct error *error);

#endif
