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

/* The counters of workers' work, in addition to the engine's computrons. */
struct counters {
    bool qemu;        /* machine instructions, under QEMU */
    bool compiled;    /* units of block cost: the worker that has the meter compiled in */
    bool by_function; /* with `compiled`: counts by function, too, which takes longer */
};

/* The contracts' languages; each has its own worker program. */
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

/* Limits of one delivery, and of the heap; 0: none. */
struct worker_limits {
    uint32_t compute;      /* computrons */
    uint64_t instructions; /* machine instructions, when counted */
    uint64_t cost;         /* units of block cost, when metered */
    uint64_t heap;         /* bytes; 0: the engine's own limit */
};

/* Bytes that a contract in native code may write to with its worker, beyond a heap that is set for
 * it, where no limit is given. */
#define LAUNCHER_NATIVE_MEMORY ((uint64_t)1 << 30)

/* A tracer of workers, or a reader of their counters' profiles. */
struct launcher_trace {
    const char *agent; /* the path of libgastrace.so; NULL: for a counter */
    /* Called before a worker executes this program under this name. Returns the descriptor of the
     * memory to share, which stays the tracer's; or -1 with the error. */
    int (*begin)(void *context, const char *program, const char *name, struct error *error);
    void *context;
};

/*
 * How all workers are started: natively or under QEMU. The opener sets the members below the line;
 * nothing changes once the first worker has started.
 */
struct launch_config {
    bool counted;
    bool xsnap_options_only; /* they may be xsnap-worker, without gaspipe's options */
    bool metered;            /* they have the meter compiled in, */
    bool by_function;        /* which says which function its units are of */
    struct launcher_worker workers[LAUNCHER_PROGRAMS];
    struct guest_tools tools; /* when counted */

    /* ---- */
    struct worker_limits limits; /* of workers that are started without others */
    uint32_t wasm_compute; /* the same of contracts in WebAssembly, which prepaid gas limits */
    bool cost_by_default;  /* native contracts, which may have no meter, get no cost limit */
    uint64_t memory_limit; /* bytes that a worker may write to, including QEMU's; 0: no limit */
    bool profile;          /* they take profiles */
    const char *compiled;  /* the directory with machine code of contracts, borrowed; NULL: none */
    const struct confinement *confinement; /* borrowed; NULL: none */
    /* Traces workers that are not counted, borrowed; NULL: none. */
    const struct launcher_trace *trace;
    /* Reads the profile that the counter or meter writes of each delivery, borrowed; NULL: none.
     * Only for workers that are counted, or metered by function. */
    const struct launcher_trace *native_profile;
    const struct placement *placement; /* borrowed; NULL: wherever Linux schedules them */
};

/* One start. All is borrowed for the call. */
struct worker_start {
    uv_loop_t *loop;
    const char *name; /* that ps(1) shows */
    enum launcher_program program;
    const char *bundle_id; /* of its contract; NULL: none, or no matter */
    bool uncounted; /* run it natively and untraced: it only prepares a snapshot for others */
    const struct worker_limits *limits; /* NULL: the configuration's */
    int snapshot_fd; /* a file, read from its beginning; -1: none, the heap is a new one */
    /* Forks it where that is possible: workers that start from one snapshot, the same each time.
     * NULL: it is executed. */
    struct zygote_policy *policy;
    const struct worker_listener *listener;
};

/* A configuration that was not opened, and may be closed. */
#define LAUNCH_CONFIG_UNOPENED                                                                     \
    {                                                                                              \
        .workers = { {.program_fd = -1}, {.program_fd = -1}, {.program_fd = -1} }                  \
    }

/* Finds the programs. 0, or -1 with ERROR_SYSTEM: which is missing and how to get it. */
int launcher_open(struct launch_config *config, struct counters counters, uint32_t compute_limit,
                  struct error *error);

/* As launcher_open(), for the worker at that path, which may be xsnap-worker; it is not counted. */
int launcher_open_xsnap(struct launch_config *config, const char *path, uint32_t compute_limit,
                        struct error *error);
void launcher_close(struct launch_config *config);

/* The limits of the configuration for workers with this program. */
struct worker_limits launcher_limits(const struct launch_config *config,
                                     enum launcher_program program);

/* The path of the worker's program; NULL with ERROR_SYSTEM and the reason if it is missing. */
const char *launcher_find(const struct launch_config *config, enum launcher_program program,
                          struct error *error);

/*
 * Milliseconds that a worker may take to start and load its runtime, if a delivery may take
 * `timeout_ms`; 0: no limit. At least a minute, so that a tight limit on deliveries does not end
 * vats on a busy machine.
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
