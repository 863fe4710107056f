/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUNTIME_RUNTIME_WORKER_H
#define GASPIPE_SUPERVISOR_RUNTIME_RUNTIME_WORKER_H

#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "supervisor/process/launcher.h"
#include "supervisor/runtime/vat_runtime.h"

/*
 * A worker that evaluates a runtime, writes a snapshot of its heap into a file and ends.
 * It works on the caller's loop and frees itself after done().
 */
struct runtime_worker;

struct runtime_worker_options {
    uv_loop_t *loop;
    const struct launcher *launcher;   /* borrowed for the call */
    const struct vat_runtime *runtime; /* copied; its programs are borrowed until done() */
    int snapshot_fd;                   /* of an empty file; borrowed until done() */
    uint64_t timeout_ms;               /* for each of the worker's answers; 0: none */
    void *context;
    /*
     * From within the loop, once, when the worker's process is gone. `error` is NULL when the
     * snapshot was written, as far as heap_file_check() can tell; else ERROR_SYSTEM.
     */
    void (*done)(void *context, const struct error *error);
};

/* NULL with ERROR_SYSTEM when no worker can be started; done() is not called then. */
struct runtime_worker *runtime_worker_start(const struct runtime_worker_options *options,
                                            struct error *error);

/* Kills the worker; done() follows, with an error. */
void runtime_worker_cancel(struct runtime_worker *worker);

#endif
