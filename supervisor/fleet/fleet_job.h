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
 * A job of a fleet's worker, as JSON. To replay one span of a vat's transcript:
 *     {"version":1,"kind":"replay","vatID","vat","first","end","deliveries",
 *      "transcript":HASH,"snapshot":HASH or "","bundles":[{"object":HASH,"vat":"v1" or ""}],
 *      "arguments":["--tolerate=gc"],"fingerprint":HASH}
 * If the source stays in a shared directory, it has "source" (shared_span.h). The hashes are
 * SHA-256 of objects and of the worker that it is for (job_kinds.c). Any other kind runs a program
 * over files:
 *     {"version":1,"kind":"estimate","name":"ed25519_verify",
 *      "files":[{"name":"suite.json","object":HASH},...],"arguments":[...],"fingerprint":HASH}
 * Both may have "gas", the weights of a gas model. A job's ID is the SHA-256 of that text, so that
 * the same work has the same ID in all submissions.
 */

/* Jobs without "gas" and "source" are of version 1. */
enum { FLEET_JOB_VERSION = 2 };

struct fleet_job {
    json_t *json;                /* owned */
    const struct job_kind *kind; /* NULL: not read, or not a kind */
    struct buf text;             /* as it is kept */
    char id[FLEET_HASH_SIZE];
};

/* Takes the JSON over, also on failure. -1 with ERROR_SYSTEM. */
int fleet_job_make(struct fleet_job *job, json_t *json, struct error *error);

/* Computes the ID of the text. Likewise. */
int fleet_job_take_id(struct fleet_job *job, struct error *error);

/* Members; "" or 0 for missing ones. Borrowed. */
const char *fleet_job_text(const struct fleet_job *job, const char *member);
int64_t fleet_job_number(const struct fleet_job *job, const char *member);

void fleet_job_free(struct fleet_job *job);

/*
 * The result of a job: a line about the worker, with the job's ID and the SHA-256 of what follows,
 * and the output of the job's process.
 */
int job_result_hash(const struct buf *output, char hash[FLEET_HASH_SIZE], struct error *error);

/* Appends it. -1, with ERROR_INPUT if it is damaged or another job's: the job is then failed. */
int job_result_get(struct fleet_transport *transport, const char *id, struct buf *result,
                   struct error *error);

/* The place where a worker does a job. */
struct job_place {
    struct fleet_transport *transport;
    const char *directory; /* for what the job's process reads and writes, empty before and after */
    const char *shared; /* directory of the files that jobs name instead of objects; NULL: none */
    const char *worker; /* path of another worker for replays; NULL: gaspipe's */
    enum confinement_level sandbox;
    enum placement_kind placement; /* of replays */
    int slot;                      /* likewise, as of placement_open() */
};

/* The end of the job's process. */
struct job_end {
    int status;              /* as waitpid(2) has it */
    const struct buf *words; /* its stderr, if that is captured */
    struct buf *output;      /* its stdout; becomes the job's result */
};

/*
 * A kind of jobs. Each job runs in a process of its own, whose end becomes a result or a reason for
 * failure.
 */
struct job_kind {
    const char *name;   /* as jobs and `fleet submit --kind` have it */
    const char *items;  /* the jobs' name in messages: "spans" */
    const char *unit;   /* of a job's work, "deliveries", in messages ... */
    const char *member; /* ... and in JSON, also with "Done" after it */
    bool takes_words;   /* the process's stderr says why it failed */

    /* Returns true if the job's members are valid. */
    bool (*is_job)(const json_t *json);

    /* The fingerprint that a worker must share with the submitter's (job_kinds.c). */
    int (*fingerprint)(const char *worker, struct counters counters, char hash[FLEET_HASH_SIZE],
                       struct error *error);

    /* Appends its name for messages: "v5, deliveries 10 to 20". */
    void (*describe)(const struct fleet_job *job, struct buf *out);

    /* Writes the process's input into the directory. -1 with ERROR_INPUT (missing or damaged) or
     * ERROR_SYSTEM. */
    int (*fetch)(const struct job_place *place, const struct fleet_job *job, struct error *error);

    /* The program, and its words. -1 with ERROR_SYSTEM. */
    int (*command)(const struct job_place *place, const struct fleet_job *job,
                   char program[PATH_MAX], struct command_line *line, struct error *error);

    /* 0 with a result; -1 with ERROR_INPUT: the job failed for this reason; with ERROR_SYSTEM: this
     * machine failed. */
    int (*judge)(const struct job_place *place, const struct job_end *end, struct error *error);
};

extern const struct job_kind job_kind_replay, job_kind_estimate, job_kind_summary, job_kind_rows;

/* The kind of that name, or NULL. */
const struct job_kind *job_kind_find(const char *name);

/* Checks of parts of a job, which others have written. */

/* A SHA-256: it becomes part of a path. */
bool job_check_hash(const json_t *value);

/* "v12" */
bool job_check_vat_id(const json_t *value);

/* "" */
bool job_check_none(const json_t *value);

/* An array of {"name","object"}: file names and the hashes of their contents. With "shared", the
 * content is not an object, but at that path below the worker's shared directory. */
bool job_check_files(const json_t *files);

/* An array of strings, each of which begins with one of the `count` in `allowed`. A submitter may
 * add jobs, but not choose programs or files of the worker's machine. */
bool job_check_arguments(const json_t *arguments, const char *const *allowed, size_t count);

/* The gas model that a job's results are priced by: its member "gas", an object of weights, which
 * becomes a file for the option --gas of its program. Jobs may have none. */

/* Only weights that are not 0, so that models of the same meaning make the same jobs. -1 when
 * memory ran out. */
int job_gas_set(json_t *members, const struct gas_model *model);

/* Returns true if the job's gas model is valid or absent. */
bool job_gas_is(const json_t *job);

/* Writes the file into the job's directory. -1 with ERROR_SYSTEM. */
int job_gas_fetch(const struct job_place *place, const struct fleet_job *job, struct error *error);

/* Appends the option, if the job has a gas model. */
void job_gas_add_argument(const struct fleet_job *job, struct command_line *line);

/* A run: the jobs of one submission, in the order of vats and deliveries, or of the operands. */

enum { FLEET_RUN_NAME_SIZE = 65 };

struct fleet_run_job {
    char id[FLEET_HASH_SIZE];
    char *name;         /* the vat's ID, or the job's name; owned */
    int64_t first, end; /* deliveries; of other kinds than replays, the place in the run */
    int64_t amount;     /* of work, in the units of its kind */
};

struct fleet_run {
    const struct job_kind *kind; /* of all its jobs; NULL: it has no job */
    char name[FLEET_RUN_NAME_SIZE];
    struct fleet_run_job *jobs; /* owned */
    size_t count, capacity;
};

/* Letters, digits, '-' and '_'. -1 with ERROR_USAGE: not a valid name. */
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
 * ERROR_USAGE: none, or several. fleet_run_free() in any case.
 */
int fleet_run_get(struct fleet_run *run, const char *name, struct fleet_transport *transport,
                  struct error *error);

void fleet_run_free(struct fleet_run *run);

#endif
