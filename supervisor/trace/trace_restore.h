/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_TRACE_TRACE_RESTORE_H
#define GASPIPE_SUPERVISOR_TRACE_TRACE_RESTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "supervisor/trace/trace_threads.h"
#include "trace/memory.h"

/* The end of a trace in the process: of this tracer's, or of one that was killed. */
struct trace_restoring {
    pid_t process;
    int memory;           /* the process's, as a file */
    uint64_t instruction; /* the address of a `syscall` in the process */
    struct trace_head head;
    struct trace_patch *patches; /* owned */
    struct trace_call *calls;    /* owned */
    struct trace_range *code;    /* owned: trampolines and the agent */
    size_t code_count;
};

/* `head` is the address of the trace's memory in the process. 0, or -1 with ERROR_INPUT or
 * ERROR_SYSTEM. Close it in any case. */
int trace_restore_open(struct trace_restoring *restoring, pid_t process, uint64_t head,
                       uint64_t instruction, struct error *error);
void trace_restore_close(struct trace_restoring *restoring);

/* Returns true if the tracer has not ended: Linux clears its thread's id. */
bool trace_restore_has_tracer(const struct trace_restoring *restoring);

/* Writes the text and the slots of library calls back, while all threads are stopped. Bytes that
 * something else has changed are left alone. */
int trace_restore_text(const struct trace_restoring *restoring, struct error *error);

/*
 * Then: gives the calls in progress their own return addresses back, and frees the memory. Stops
 * and releases all threads. 0; 1: a signal handler that interrupted a trampoline does not return,
 * so that the trace's memory has to stay; or -1 with the error.
 */
int trace_restore_calls(const struct trace_restoring *restoring, struct error *error);

#endif
