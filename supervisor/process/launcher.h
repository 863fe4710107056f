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

/* Contracts that have workers of their own. */
enum launcher_contracts { LAUNCHER_WASM, LAUNCHER_NATIVE_CODE, LAUNCHER_CONTRACTS };

struct launcher_worker {
    char path[PATH_MAX]; /* "": not there */
    int program_fd;      /* its file, when counted; else -1 */
};

/* Those of a launcher that was not opened. */
#define LAUNCHER_NO_WORKERS                                                                        \
    {                                                                                              \
        {.program_fd = -1},                                                                        \
        {                                                                                          \
            .program_fd = -1                                                                       \
        }                                                                                          \
    }

/* Who traces workers, or takes their counters' profiles. */
struct launcher_trace {
    const char *agent; /* the path of libgastrace.so; NULL: for a counter */
    /* A worker will execute this program under this name. The descriptor of the memory that it is
     * to share, which stays the tracer's; or -1 with the error filled. */
    int (*begin)(void *context, const char *program, const char *name, struct error *error);
    void *context;
};

/* Starts workers, natively or under the counter, the same way each time. */
struct launcher {
    bool counted;
    bool foreign;           /* it knows xsnap-worker's options only */
    uint32_t compute_limit; /* computrons for each delivery; 0: none */
    /* The same for contracts in WebAssembly, which prepaid gas limits. The caller sets it. */
    uint32_t wasm_compute_limit;
    /* Machine instructions for each delivery; 0: none. The caller sets it, when counted. */
    uint64_t instruction_limit;
    bool metered;     /* the worker has the meter compiled in */
    bool by_function; /* which says which function its units are of */
    /* Units of block cost for each delivery; 0: none. The caller sets it, when metered. */
    uint64_t cost_limit;
    bool cost_by_default; /* contracts in native code, which may have no meter, have none */
    uint64_t heap_limit;  /* bytes of the engine's heap; 0: the engine's own. The caller sets it */
    /* As the worker's -i and -s; 0: not given. The caller sets them. */
    uint32_t compute_interval, parser_kb;
    /* Bytes that a worker may write to, QEMU's own with it; 0: no limit. The caller sets it. */
    uint64_t memory_limit;
    char worker[PATH_MAX];    /* "": it is not there */
    const char *missing;      /* why */
    struct guest_tools tools; /* when counted */
    int program_fd;           /* the worker's file, when counted; else -1 */
    struct launcher_worker others[LAUNCHER_CONTRACTS]; /* that launcher_for() starts */
    bool profile;                                      /* they take profiles. The caller sets it */
    /* Their sandbox, borrowed; NULL: none. The caller sets it. */
    const struct confinement *confinement;
    /* Traces them where they are not counted, borrowed; NULL: nobody does. The caller sets it. */
    const struct launcher_trace *trace;
    /* Takes what their counter or meter writes of each delivery, borrowed; NULL: nobody does. Only
     * where they are counted, or metered by function. The caller sets it. */
    const struct launcher_trace *native_profile;
    /* Forks workers where it can: those that start from one snapshot, the same each time. Borrowed;
     * NULL: they are all executed. The caller sets it. */
    struct zygote_policy *zygote_policy;
    struct zygote **zygote; /* where a new one goes, while launcher.c starts it */
    /* Where workers run, borrowed; NULL: wherever the system puts them. The caller sets it. */
    const struct placement *placement;
};

/*
 * Finds what is needed. 0, or -1 with ERROR_SYSTEM: what is missing and how to
 * get it. A launcher that is all zeros may not be closed.
 */
int launcher_open(struct launcher *launcher, struct counters counters, uint32_t compute_limit,
                  struct error *error);

/*
 * As launcher_open(), for the worker at that path, which need be no more than
 * xsnap-worker is; it runs without the counter.
 */
int launcher_open_foreign(struct launcher *launcher, const char *path, uint32_t compute_limit,
                          struct error *error);
void launcher_close(struct launcher *launcher);

/*
 * One that starts the same worker without the counter; it borrows from the first
 * and is not closed.
 */
struct launcher launcher_native(const struct launcher *launcher);

/* One that starts the worker of such contracts in the same way; borrows like launcher_native(). */
struct launcher launcher_for(const struct launcher *launcher, enum launcher_contracts contracts);

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

/*
 * As launcher_start(), going on from the snapshot in this file, read from its
 * beginning, or that comes through this pipe; -1: afresh. The descriptor stays the caller's.
 */
struct worker_process *launcher_start_from(const struct launcher *launcher, uv_loop_t *loop,
                                           const char *name, int snapshot_fd,
                                           const struct worker_listener *listener,
                                           struct error *error);

/* As worker_process_start(). `name` is what ps(1) shows. */
struct worker_process *launcher_start(const struct launcher *launcher, uv_loop_t *loop,
                                      const char *name, const struct worker_listener *listener,
                                      struct error *error);

#endif
