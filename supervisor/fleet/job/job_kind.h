/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_JOB_JOB_KIND_H
#define GASPIPE_SUPERVISOR_FLEET_JOB_JOB_KIND_H

#include "supervisor/fleet/job/fleet_job.h"
#include "supervisor/process/command_line.h"
#include "supervisor/process/confinement.h"
#include "supervisor/process/launcher.h"

/* Where a worker does a job. */
struct job_place {
    struct fleet_transport *transport;
    const char *folder; /* for what the job's process reads and writes, empty before and after */
    const char *shared; /* folder of the files that jobs name instead of objects; NULL: none */
    const char *worker; /* path of another worker for replays; NULL: ours */
    enum confinement_level sandbox;
    enum placement_kind placement; /* of replays */
    int seat;                      /* likewise, as of placement_open() */
};

/* What became of the job's process. */
struct job_end {
    int status;              /* as waitpid(2) has it */
    const struct buf *words; /* what it wrote to stderr, where that is taken */
    struct buf *output;      /* what it wrote to stdout; becomes the job's result */
};

/*
 * What jobs of a kind are, and how they are done: each in a process of its own, from whose end a
 * result or a reason is made.
 */
struct job_kind {
    const char *name;   /* as jobs and `fleet submit --kind` have it */
    const char *items;  /* how people call the jobs: "spans" */
    const char *unit;   /* what the work in a job is measured in, "deliveries", for people ... */
    const char *member; /* ... and in JSON, where "Done" is put behind it */
    bool takes_words;   /* what the process writes to stderr says why it failed */

    /* Whether its members are what they should be. */
    bool (*is_job)(const json_t *json);

    /* What a worker must have in common with the one it was submitted for (fleet_fingerprint.h). */
    int (*fingerprint)(const char *worker, struct counters counters, char hash[FLEET_HASH_SIZE],
                       struct error *error);

    /* Appends what messages call it: "v5, deliveries 10 to 20". */
    void (*describe)(const struct fleet_job *job, struct buf *out);

    /* Writes into the folder what the process reads. -1 with ERROR_INPUT (missing or damaged) or
     * ERROR_SYSTEM. */
    int (*fetch)(const struct job_place *place, const struct fleet_job *job, struct error *error);

    /* The program, and its words. -1 with ERROR_SYSTEM. */
    int (*command)(const struct job_place *place, const struct fleet_job *job,
                   char program[PATH_MAX], struct command_line *line, struct error *error);

    /* Whether that came to a result. -1 with ERROR_INPUT: it did not, for that reason; with
     * ERROR_SYSTEM: something is wrong with this machine. */
    int (*judge)(const struct job_place *place, const struct job_end *end, struct error *error);
};

extern const struct job_kind job_kind_replay, job_kind_estimate, job_kind_summary, job_kind_rows;

/* The kind of that name; NULL: there is none. */
const struct job_kind *job_kind_find(const char *name);

#endif
