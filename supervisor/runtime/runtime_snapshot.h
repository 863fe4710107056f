/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUNTIME_RUNTIME_SNAPSHOT_H
#define GASPIPE_SUPERVISOR_RUNTIME_RUNTIME_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"
#include "base/error.h"
#include "store/store.h"
#include "supervisor/process/fingerprint.h"
#include "supervisor/process/launcher.h"
#include "supervisor/runtime/vat_runtime.h"

/* The snapshot of SwingSet's runtime that the build has made next to the programs. The file begins
 * with a line "NAME SHA-256 SIZE\n". NAME is the snapshot's name in stores, a hash of the worker
 * and the runtime; the hash and the size are the snapshot's. The snapshot follows, compressed with
 * zstd. */
#define PREPARED_START_FILE "swingset-warm.heap"

/* Writes the file at `path`, of what is read from `fd` up to its end. 0, or -1 with ERROR_SYSTEM.
 */
int prepared_start_write(const char *path, const char *name, int fd, struct error *error);

/*
 * Warm snapshots: of workers that have evaluated a runtime and nothing else. Vats start from
 * them, which takes a tenth of the time of evaluating the runtime.
 *
 * A worker writes the same bytes with and without the counter, so the snapshot is always
 * made by one that runs natively.
 */

struct runtime_worker;
struct runtime_snapshots;

/* In place of a descriptor. */
enum runtime_snapshot_result {
    RUNTIME_SNAPSHOT_READY = 0,
    RUNTIME_SNAPSHOT_FAILED = -1, /* the system failed; it would fail again */
    RUNTIME_SNAPSHOT_LOST = -2,   /* the worker that was to write it failed; another may not */
    RUNTIME_SNAPSHOT_MAKING = -3, /* it is being written, or waits for another one that is */
};

enum { RUNTIME_SNAPSHOT_NAME_SIZE = sizeof "warm-" + FINGERPRINT_HEX_SIZE };

/* One runtime's; only runtime_snapshot.c looks inside. */
struct runtime_snapshot {
    struct runtime_snapshots *starts;
    enum vat_runtime_kind kind;
    int fd_plus_1;                         /* of the snapshot; 0 if not made yet */
    int new_fd;                            /* while it is being written */
    char name[RUNTIME_SNAPSHOT_NAME_SIZE]; /* in the store */
    struct runtime_worker *maker;
    struct zygote_policy zygote_policy;  /* of workers that start from it */
    enum runtime_snapshot_result result; /* of the last attempt */
    struct error error;                  /* why that failed */
};

struct runtime_snapshots {
    uv_loop_t *loop;
    const struct launch_config *launcher;
    struct store *store; /* that keeps the snapshots, by a hash of runtime and worker; or NULL */
    /* launcher_start_limit() of it, and five minutes at most, for each step of the making. */
    uint64_t timeout_ms;
    void *context;
    /*
     * From within the loop, when a snapshot that was being made is READY, LOST or FAILED, with
     * the error. NULL is allowed.
     */
    void (*made)(void *context, enum vat_runtime_kind kind, enum runtime_snapshot_result result,
                 const struct error *error);
    struct runtime_snapshot runtimes[VAT_RUNTIME_KINDS]; /* all zeros at first */
};

/*
 * A new descriptor of this runtime's snapshot, at its beginning; the caller's to close. It comes
 * from memory, from the store, or from the file that the build has prepared. Where none has it, a
 * worker that writes it is started and this is RUNTIME_SNAPSHOT_MAKING: made() follows. So it is
 * while another runtime's is being made: one at a time, so that the store gets them in an order
 * that does not depend on their speed. Then it is to be asked for again after made(). Else
 * RUNTIME_SNAPSHOT_LOST or RUNTIME_SNAPSHOT_FAILED with the error, ERROR_SYSTEM. The runtime's
 * programs stay readable until made().
 */
int runtime_snapshot_open(struct runtime_snapshots *starts, const struct vat_runtime *runtime,
                          struct error *error);

/*
 * The same for a caller that has nothing else to do: runs the loop instead of
 * RUNTIME_SNAPSHOT_MAKING. Not from within the loop.
 */
int runtime_snapshot_wait(struct runtime_snapshots *starts, const struct vat_runtime *runtime,
                          struct error *error);

/* Forks workers that start from this runtime's snapshot; NULL: they are executed. */
struct zygote_policy *runtime_snapshot_zygote_policy(struct runtime_snapshots *starts,
                                                     enum vat_runtime_kind kind);

/* Ends what is being made: made() follows with RUNTIME_SNAPSHOT_LOST. */
void runtime_snapshots_cancel(struct runtime_snapshots *starts);

bool runtime_snapshots_are_making(const struct runtime_snapshots *starts);

/* While nothing is being made. They may be asked for again afterwards. All zeros may be freed. */
void runtime_snapshots_free(struct runtime_snapshots *starts);

#endif
