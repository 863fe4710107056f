/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_THREADS_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "trace/memory.h"

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

/* Addresses of code, without the end. */
struct trace_range {
    uint64_t begin, end;
};

/* Returns true if a thread's next instruction lies within a range, or a signal handler of its
 * returns there. */
bool trace_threads_are_within(const struct trace_threads *threads, const struct trace_range *ranges,
                              size_t count);

/* The address from which a thread's own variables are found; 0: it has ended. */
uint64_t trace_threads_base(const struct trace_threads *threads, size_t index);

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

/* Makes this thread call a function that takes no lock, while all others are stopped, wherever the
 * thread is. 0, or -1 with the error. */
int trace_threads_call_alone(struct trace_threads *threads, size_t index,
                             const struct trace_injection *injection, struct error *error);

#endif
