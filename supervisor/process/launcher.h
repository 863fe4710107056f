/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_LAUNCHER_H
#define GASPIPE_SUPERVISOR_PROCESS_LAUNCHER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "supervisor/process/confinement.h"
#include "supervisor/process/guest.h"
#include "supervisor/process/placement.h"
#include "supervisor/process/worker_process.h"
#include "supervisor/process/zygote.h"

/* SwingSet's limit for a delivery (npm @agoric/xsnap 0.15.0, DEFAULT_CRANK_METERING_LIMIT). */
enum { LAUNCHER_COMPUTE_LIMIT_DEFAULT = 100000000 };

/* What counts the work of workers, beside the engine itself. */
struct counters {
    bool qemu;     /* machine instructions, under QEMU */
    bool compiled; /* units of block cost: the worker that has the meter compiled in */
    /* Of the latter: it also says which function they are of, and takes longer. */
    bool by_function;
};

/* What a worker runs; each has a program of its own. */
enum launcher_program {
    LAUNCHER_JAVASCRIPT,
    LAUNCHER_WASM,
    LAUNCHER_NATIVE_CODE,
    LAUNCHER_PROGRAMS,
};

struct launcher_worker {
    char path[PATH_MAX]; /* "": not there */
    int program_fd;      /* its file, when counted; else -1 */
};

/* Of a delivery, and of the heap; 0: none. */
struct worker_limits {
    uint32_t compute;      /* computrons */
    uint64_t instructions; /* machine instructions, when counted */
    uint64_t cost;         /* units of block cost, when metered */
    uint64_t heap;         /* bytes; 0: the engine's own limit */
};

/* Who traces workers, or takes their counters' profiles. */
struct launcher_trace {
    const char *agent; /* the path of libgastrace.so; NULL: for a counter */
    /* A worker will execute this program under this name. The descriptor of the memory that it is
     * to share, which stays the tracer's; or -1 with the error filled. */
    int (*begin)(void *context, const char *program, const char *name, struct error *error);
    void *context;
};

/*
 * How workers are started, the same way each time: natively or under the counter. Opened once; the
 * opener sets the members below the line, and nothing changes once the first worker has started.
 */
struct launch_config {
    bool counted;
    bool foreign;     /* they know xsnap-worker's options only */
    bool metered;     /* they have the meter compiled in, */
    bool by_function; /* which says which function its units are of */
    struct launcher_worker workers[LAUNCHER_PROGRAMS];
    struct guest_tools tools; /* when counted */

    /* ---- */
    struct worker_limits limits; /* of workers that are started without others */
    uint32_t wasm_compute; /* the same of contracts in WebAssembly, which prepaid gas limits */
    bool
        cost_by_default; /* contracts in native code, which may have no meter, have no cost limit */
    uint64_t memory_limit; /* bytes that a worker may write to, QEMU's own with it; 0: no limit */
    bool profile;          /* they take profiles */
    const struct confinement *confinement; /* borrowed; NULL: none */
    /* Traces them where they are not counted, borrowed; NULL: nobody does. */
    const struct launcher_trace *trace;
    /* Takes what their counter or meter writes of each delivery, borrowed; NULL: nobody does. Only
     * where they are counted, or metered by function. */
    const struct launcher_trace *native_profile;
    const struct placement *placement; /* borrowed; NULL: wherever Linux schedules them */
};

/* One start. All is borrowed for the call. */
struct worker_start {
    uv_loop_t *loop;
    const char *name; /* that ps(1) shows */
    enum launcher_program program;
    bool uncounted;                     /* natively, and without a trace: it prepares others */
    const struct worker_limits *limits; /* NULL: the configuration's */
    int snapshot_fd; /* a file, read from its beginning; -1: none, the heap is a new one */
    /* Forks it where that is possible: workers that start from one snapshot, the same each time.
     * NULL: it is executed. */
    struct zygote_policy *policy;
    const struct worker_listener *listener;
};

/* One that was not opened, and may be closed. */
#define LAUNCH_CONFIG_UNOPENED                                                                     \
    {                                                                                              \
        .workers = { {.program_fd = -1}, {.program_fd = -1}, {.program_fd = -1} }                  \
    }

/*
 * Finds what is needed. 0, or -1 with ERROR_SYSTEM: what is missing and how to get it.
 */
int launcher_open(struct launch_config *config, struct counters counters, uint32_t compute_limit,
                  struct error *error);

/*
 * As launcher_open(), for the worker at that path, which need be no more than xsnap-worker is; it
 * runs without the counter.
 */
int launcher_open_foreign(struct launch_config *config, const char *path, uint32_t compute_limit,
                          struct error *error);
void launcher_close(struct launch_config *config);

/* The limits of the configuration for workers with this program. */
struct worker_limits launcher_limits(const struct launch_config *config,
                                     enum launcher_program program);

/* The path of the worker's program; NULL with ERROR_SYSTEM where it is not there, and why. */
const char *launcher_find(const struct launch_config *config, enum launcher_program program,
                          struct error *error);

/*
 * Milliseconds that a worker may take to start and to load its runtime, where a
 * delivery may take `timeout_ms` (0: no limit for either): at least a minute, so
 * that a tight limit on deliveries does not end vats on a busy machine.
 */
static inline uint64_t launcher_start_limit(uint64_t timeout_ms)
{
    const uint64_t minute = 60000;

    return timeout_ms > 0 && timeout_ms < minute ? minute : timeout_ms;
}

/* As worker_process_start(). */
struct worker_process *launcher_start(const struct launch_config *config,
                                      const struct worker_start *start, struct error *error);

#endif
