/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_TRANSPORT_H
#define GASPIPE_SUPERVISOR_FLEET_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * The exchange between a fleet's machines: objects by their hash; jobs, each taken by one worker at
 * a time; results by job; and runs, each a list of a submission's jobs.
 *
 * A worker takes a job under a lease, which it extends; if it does not, another worker gets the
 * job. So a job may be done twice, but its result is stored once, before the lease ends.
 *
 * All calls block. Errors are ERROR_INPUT (invalid or missing data) or ERROR_SYSTEM (unreachable,
 * or out of space).
 */

#define FLEET_HASH_SIZE 65 /* a SHA-256 in hexadecimal, and '\0' */

/* Limits on a span's failures and on its lost workers; beyond them it is not tried again. */
enum { FLEET_FAILURES_MAX = 3, FLEET_LOSSES_MAX = 20 };

enum fleet_state {
    FLEET_UNKNOWN,
    FLEET_WAITING,
    FLEET_TAKEN,
    FLEET_DONE,
    FLEET_FAILED, /* it failed too often */
    FLEET_CANCELLED,
};

/* Returns true if a job in this state is done (again) when it is submitted again. */
static inline bool fleet_state_takes_job(enum fleet_state state)
{
    return state == FLEET_UNKNOWN || state == FLEET_FAILED || state == FLEET_CANCELLED;
}

/* A job that this worker has. */
struct fleet_lease {
    char id[FLEET_HASH_SIZE];
    struct buf job;       /* its text */
    struct error problem; /* ERROR_INPUT: the text could not be read; the job fails */
    void *hold;           /* the transport's own */
};

/* Called for each name of a list; -1 ends it. */
typedef int fleet_each(void *context, const char *name, struct error *error);

struct fleet_transport;
struct nats_access;

struct fleet_operations {
    /* ---- objects: compressed, named by the hash of their content; in files, because they may be
     * larger than memory ---- */
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

    /* 1 with a job, or with that of this ID; 0: none at present; *left: others still have jobs. */
    int (*take)(struct fleet_transport *transport, const char *id, struct fleet_lease *lease,
                bool *left, struct error *error);

    /* Call it every renewal_ms. *lost: the job is no longer this worker's. Also called from
     * another thread while this one moves objects, so neither may change the transport. */
    int (*extend)(struct fleet_transport *transport, struct fleet_lease *lease, bool *lost,
                  struct error *error);

    /* Each ends the lease, also on failure: the job is done, with its result; failed, with one line
     * of reason; or given back as if it had not been taken. */
    int (*finish)(struct fleet_transport *transport, struct fleet_lease *lease,
                  const struct buf *result, struct error *error);
    int (*fail)(struct fleet_transport *transport, struct fleet_lease *lease, const char *words,
                struct error *error);
    int (*release)(struct fleet_transport *transport, struct fleet_lease *lease,
                   struct error *error);

    /* The same if only other workers can do the job: they get it first. */
    int (*refuse)(struct fleet_transport *transport, struct fleet_lease *lease,
                  struct error *error);

    /* ---- outcomes ---- */
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
    const char *name;    /* for messages, without secrets; owned by the transport */
    uint64_t renewal_ms; /* from one extension of a lease to the next */
};

/*
 * A fleet in a directory, of one machine or shared by several. In it:
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
 * A worker takes a job by renaming its file; only one of several succeeds. A result is written
 * under another name, synced, and linked to its own name, which fails if that exists.
 */

/*
 * Opens it; with `make`, also a new or empty directory. `lease_ms` is how long a worker may be
 * silent. NULL with ERROR_INPUT: not a fleet's directory, or ERROR_SYSTEM.
 */
struct fleet_transport *directory_transport_open(const char *path, bool make, uint64_t lease_ms,
                                                 struct error *error);

/*
 * A fleet over NATS JetStream, in four streams with one message per subject:
 *     GASPIPE_OBJECTS   gaspipe.object.HASH.N, pieces of the object; .whole, their number: last
 *     GASPIPE_JOBS      gaspipe.job.ID, a work queue; the durable consumer "workers" takes jobs
 *     GASPIPE_RECORDS   gaspipe.record.job.ID, .result.ID, .run.NAME: written once
 *     GASPIPE_NOTES     gaspipe.note.state.ID ("failed", "cancelled" or "none"), .words.ID,
 *                       .refused.ID (times), .taken.ID (milliseconds from its time; 0: no longer)
 * Missing streams are created, and none is deleted. A record longer than a piece is an object, and
 * the record is "@HASH".
 */

/* `replicas` of the streams that it makes; 0: it makes none. NULL with ERROR_INPUT or
 * ERROR_SYSTEM. */
struct fleet_transport *nats_transport_open(const struct nats_access *access, int replicas,
                                            uint64_t lease_ms, struct error *error);

#endif
