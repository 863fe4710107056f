/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_TRANSPORT_H
#define GASPIPE_SUPERVISOR_FLEET_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * How a fleet's machines exchange what they work on: objects by their hash, jobs that one worker
 * at a time has, results by job, and runs, each of which is the list of the jobs of a submission.
 *
 * A job is taken under a lease, which its worker extends; if it does not, another gets the job.
 * So a job may be done twice, but its result is stored once, and before the job is given up.
 *
 * All calls block, and are made where nothing else waits. Errors are ERROR_INPUT (what is there is
 * not what it should be, or missing) or ERROR_SYSTEM (it cannot be reached, or has no room).
 */

#define FLEET_HASH_SIZE 65 /* a SHA-256 in hexadecimal, and '\0' */

/* A span fails for good after this many failures, or after this many lost workers. */
enum { FLEET_FAILURES_MAX = 3, FLEET_LOSSES_MAX = 20 };

enum fleet_state {
    FLEET_UNKNOWN,
    FLEET_WAITING,
    FLEET_TAKEN,
    FLEET_DONE,
    FLEET_FAILED, /* it failed too often */
    FLEET_CANCELLED,
};

/* Whether a job that is submitted again in this state is to be done (once more). */
static inline bool fleet_state_takes_job(enum fleet_state state)
{
    return state == FLEET_UNKNOWN || state == FLEET_FAILED || state == FLEET_CANCELLED;
}

/* A job that this worker has. */
struct fleet_lease {
    char id[FLEET_HASH_SIZE];
    struct buf job; /* its text */
    void *hold;     /* the transport's own */
};

/* Called for each name of a list; -1 ends it. */
typedef int fleet_each(void *context, const char *name, struct error *error);

struct fleet_transport;
struct nats_access;

struct fleet_operations {
    /* ---- objects: compressed, under the hash of what they hold, in files, since they may be
     * longer than memory is large ---- */
    int (*has_object)(struct fleet_transport *transport, const char *hash, bool *found,
                      struct error *error);

    /* From the file's start. */
    int (*put_object)(struct fleet_transport *transport, const char *hash, int packed,
                      struct error *error);

    /* *packed: a file to be read from its start, and to be closed. */
    int (*get_object)(struct fleet_transport *transport, const char *hash, int *packed,
                      struct error *error);

    /* ---- jobs ---- */

    /* Adds a job, unless it waits, is taken or done already. Heavy jobs are taken first. */
    int (*put_job)(struct fleet_transport *transport, const char *id, const struct buf *job,
                   int64_t weight, bool *added, struct error *error);
    int (*get_job)(struct fleet_transport *transport, const char *id, struct buf *job,
                   struct error *error);

    /* 1 with a job, or the one of this ID; 0: there is none at present, *left says whether jobs
     * are still taken by others. */
    int (*take)(struct fleet_transport *transport, const char *id, struct fleet_lease *lease,
                bool *left, struct error *error);

    /* Every fleet_transport.beat_ms. *lost: the job is no longer this worker's. Also called from
     * another thread while this one moves objects, so neither may change the transport. */
    int (*extend)(struct fleet_transport *transport, struct fleet_lease *lease, bool *lost,
                  struct error *error);

    /* Each ends the lease, also where it fails: done, with its result; failed, with one line of
     * why; or given back as if it had not been taken. */
    int (*finish)(struct fleet_transport *transport, struct fleet_lease *lease,
                  const struct buf *result, struct error *error);
    int (*fail)(struct fleet_transport *transport, struct fleet_lease *lease, const char *words,
                struct error *error);
    int (*release)(struct fleet_transport *transport, struct fleet_lease *lease,
                   struct error *error);

    /* The same where this worker cannot do the job, but others can: they get it first. */
    int (*refuse)(struct fleet_transport *transport, struct fleet_lease *lease,
                  struct error *error);

    /* ---- what became of them ---- */
    int (*state)(struct fleet_transport *transport, const char *id, enum fleet_state *state,
                 struct error *error);

    /* Appends the result of a job that is done. */
    int (*get_result)(struct fleet_transport *transport, const char *id, struct buf *result,
                      struct error *error);

    /* Appends lines about why it failed, if it did. */
    int (*get_words)(struct fleet_transport *transport, const char *id, struct buf *words,
                     struct error *error);
    int (*cancel)(struct fleet_transport *transport, const char *id, struct error *error);

    /* ---- runs ---- */
    int (*put_run)(struct fleet_transport *transport, const char *name, const struct buf *jobs,
                   struct error *error);
    int (*get_run)(struct fleet_transport *transport, const char *name, struct buf *jobs,
                   struct error *error);
    int (*list_runs)(struct fleet_transport *transport, fleet_each *each, void *context,
                     struct error *error);

    void (*close)(struct fleet_transport *transport);
};

/* The head of each transport. */
struct fleet_transport {
    const struct fleet_operations *operations;
    const char *name; /* for messages, without secrets; owned by the transport */
    uint64_t beat_ms; /* how often leases are extended */
};

/*
 * A fleet whose machines share a directory, and one machine's own. In it:
 *     fleet.json              {"version":1}
 *     objects/HASH.zst        HASH is of what the file holds, uncompressed
 *     jobs/ID.json            each job
 *     waiting/WEIGHT-ID.F.L   an empty file for each job that waits; F times it failed, L times
 *                             its worker was lost
 *     taken/WEIGHT-ID.F.L.WHO the same of a job that a worker has: the time of its last
 *                             modification is when the lease was extended
 *     results/ID.jsonl
 *     words/ID                why it failed, a line each time
 *     failed/ID, cancelled/ID  empty files
 *     runs/NAME.jsonl         {"id":ID,...} for each job, in order
 *
 * A job is taken by renaming its file, which only one worker succeeds in. Results are written
 * under another name, synced, and linked to their own, which fails when one is there.
 */

/*
 * Opens it; where `make`, also a directory that is new or empty. `lease_ms` is how long a worker
 * may be silent. NULL with ERROR_INPUT: it is no fleet's directory, or ERROR_SYSTEM.
 */
struct fleet_transport *directory_transport_open(const char *path, bool make, uint64_t lease_ms,
                                                 struct error *error);

/*
 * A fleet whose machines exchange all over NATS JetStream, in four streams of one message a
 * subject:
 *     GASPIPE_OBJECTS   gaspipe.object.HASH.N, pieces of the object; .whole, their number: last
 *     GASPIPE_JOBS      gaspipe.job.ID, a work queue; the durable consumer "workers" takes jobs
 *     GASPIPE_RECORDS   gaspipe.record.job.ID, .result.ID, .run.NAME: written once
 *     GASPIPE_NOTES     gaspipe.note.state.ID ("failed", "cancelled" or "none"), .words.ID,
 *                       .refused.ID (times), .taken.ID (for so many milliseconds from when it
 *                       was set, 0: no more)
 * Streams are made where they are missing, and never deleted. Records longer than a piece are
 * objects, and "@HASH" stands for them.
 */

/* `replicas` of the streams that it makes; 0: it makes none. NULL with ERROR_INPUT or
 * ERROR_SYSTEM. */
struct fleet_transport *nats_transport_open(const struct nats_access *access, int replicas,
                                            uint64_t lease_ms, struct error *error);

#endif
