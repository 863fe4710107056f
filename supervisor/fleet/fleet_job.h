/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_FLEET_JOB_H
#define GASPIPE_SUPERVISOR_FLEET_FLEET_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "gas/gas_model.h"
#include "supervisor/fleet/transport.h"
#include "supervisor/process/confinement.h"
#include "supervisor/process/guest.h"
#include "supervisor/process/launcher.h"

/*
 * What a worker of a fleet has to do, as JSON. To replay one span of a vat's transcript:
 *     {"version":1,"kind":"replay","vatID","vat","first","end","deliveries",
 *      "transcript":HASH,"snapshot":HASH or "","bundles":[{"object":HASH,"vat":"v1" or ""}],
 *      "arguments":["--tolerate=gc"],"fingerprint":HASH}
 * and where the source stays in a shared directory "source" (shared_span.h), with the SHA-256 of
 * objects and of the worker that it is for (job_kinds.c). Any other kind runs a program
 * over files:
 *     {"version":1,"kind":"estimate","name":"ed25519_verify",
 *      "files":[{"name":"suite.json","object":HASH},...],"arguments":[...],"fingerprint":HASH}
 * Either may have "gas", the weights of a gas model (fleet_job.h). fleet_job.h lists the kinds. A
 * job's ID is the SHA-256 of that text, so the same work has the same ID, whoever asks for it.
 */
/* Jobs without "gas" and "source" are of version 1. */
enum { FLEET_JOB_VERSION = 2 };

struct fleet_job {
    json_t *json;                /* owned */
    const struct job_kind *kind; /* NULL: it was not read, or is none */
    struct buf text;             /* as it is kept */
    char id[FLEET_HASH_SIZE];
};

/* Takes the JSON over, also on failure. -1 with ERROR_SYSTEM. */
int fleet_job_make(struct fleet_job *job, json_t *json, struct error *error);

/* Works out the ID of the text. Likewise. */
int fleet_job_take_id(struct fleet_job *job, struct error *error);

/* Members; "" and 0 for those that it has not. Borrowed. */
const char *fleet_job_text(const struct fleet_job *job, const char *member);
int64_t fleet_job_number(const struct fleet_job *job, const char *member);

void fleet_job_free(struct fleet_job *job);

/* Where a worker does a job. */
struct job_place {
    struct fleet_transport *transport;
    const char *directory; /* for what the job's process reads and writes, empty before and after */
    const char *shared; /* directory of the files that jobs name instead of objects; NULL: none */
    const char *worker; /* path of another worker for replays; NULL: ours */
    enum confinement_level sandbox;
    enum placement_kind placement; /* of replays */
    int slot;                      /* likewise, as of placement_open() */
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

    /* What a worker must have in common with the one it was submitted for (job_kinds.c). */
    int (*fingerprint)(const char *worker, struct counters counters, char hash[FLEET_HASH_SIZE],
                       struct error *error);

    /* Appends what messages call it: "v5, deliveries 10 to 20". */
    void (*describe)(const struct fleet_job *job, struct buf *out);

    /* Writes into the directory what the process reads. -1 with ERROR_INPUT (missing or damaged) or
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

/* Whether parts of a job that others have written are what they should be. */

/* A SHA-256: it becomes part of a path. */
bool job_check_hash(const json_t *value);

/* "v12" */
bool job_check_vat_id(const json_t *value);

/* "" */
bool job_check_none(const json_t *value);

/* An array of {"name","object"}: names of files in one directory, and what is in them; with
 * "shared", which is a path below a directory that the worker was given, that is not among the
 * objects but there. */
bool job_check_files(const json_t *files);

/* An array of strings, each of which begins with one of the `count` in `allowed`: whoever may add
 * jobs may not choose programs or files of the worker's machine. */
bool job_check_arguments(const json_t *arguments, const char *const *allowed, size_t count);

/* The gas model that a job's results are priced by: its member "gas", an object of weights, which
 * becomes a file for the option --gas of its program. Jobs may have none. */

/* Only weights that are not 0, so that models of the same meaning make the same jobs. -1 when
 * memory ran out. */
int job_gas_set(json_t *members, const struct gas_model *model);

/* Whether it is a gas model, or there is none. */
bool job_gas_is(const json_t *job);

/* Writes the file into the job's directory. -1 with ERROR_SYSTEM. */
int job_gas_fetch(const struct job_place *place, const struct fleet_job *job, struct error *error);

/* Appends the option, if the job has a gas model. */
void job_gas_add_argument(const struct fleet_job *job, struct command_line *line);

/* A run: the jobs of one submission, in the order of vats and deliveries, or of what was given. */

enum { FLEET_RUN_NAME_SIZE = 65 };

struct fleet_run_job {
    char id[FLEET_HASH_SIZE];
    char *name;         /* the vat's ID, or the job's name; owned */
    int64_t first, end; /* deliveries; of other kinds than replays, the place in the run */
    int64_t amount;     /* of work, in the units of its kind */
};

struct fleet_run {
    const struct job_kind *kind; /* of all its jobs; NULL: it has none */
    char name[FLEET_RUN_NAME_SIZE];
    struct fleet_run_job *jobs; /* owned */
    size_t count, capacity;
};

/* Letters, digits, '-' and '_'. -1 with ERROR_USAGE: it is no name of a run. */
int fleet_run_check_name(const char *name, struct error *error);

/* Copies the job. -1 with ERROR_SYSTEM; with ERROR_INPUT, it is of another kind than the others. */
int fleet_run_add(struct fleet_run *run, const struct job_kind *kind,
                  const struct fleet_run_job *job, struct error *error);

/* Puts the jobs in order and keeps the run, under the name, or one that follows from its jobs
 * where it is NULL. */
int fleet_run_put(struct fleet_run *run, const char *name, struct fleet_transport *transport,
                  struct error *error);

/*
 * Reads a run into one that is all zeros: that of this name; NULL: the only one. -1 with
 * ERROR_USAGE: there is none, or several. fleet_run_free() in any case.
 */
int fleet_run_get(struct fleet_run *run, const char *name, struct fleet_transport *transport,
                  struct error *error);

void fleet_run_free(struct fleet_run *run);

#endif
