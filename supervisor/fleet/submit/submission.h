/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_SUBMIT_SUBMISSION_H
#define GASPIPE_SUPERVISOR_FLEET_SUBMIT_SUBMISSION_H

#include "supervisor/fleet/fleet_options.h"
#include "supervisor/fleet/fleet_run.h"

/* A run in the making. */
struct submission {
    const struct fleet_options *options;
    struct fleet_transport *transport;
    const struct job_kind *kind;
    char fingerprint[FLEET_HASH_SIZE]; /* of the workers that it is for */
    json_t *arguments;                 /* of each job's process; owned */
    struct fleet_run run;
    size_t added; /* jobs that were not there before */
    int64_t amount;
};

/* Adds an argument to all jobs. Failure shows when a job is put. */
void submission_add_argument(struct submission *submission, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes a job of its kind's own members, which are taken over, also on failure. `entry` is its line
 * in the run, without ID. -1 with ERROR_SYSTEM or what the transport says. */
int submission_put(struct submission *submission, json_t *members,
                   const struct fleet_run_job *entry, struct error *error);

/* Puts a file of the user's into the fleet, as an object and as an item of a job's "files" under
 * that name. *size: in bytes. -1 with ERROR_INPUT or ERROR_SYSTEM. */
int submission_put_file(struct submission *submission, json_t *files, const char *path,
                        const char *name, int64_t *size, struct error *error);

/* The same where the file stays in the shared folder of the options, and the job names it. */
int submission_name_file(struct submission *submission, json_t *files, const char *path,
                         const char *name, int64_t *size, struct error *error);

/* The same of bytes in memory, which become an object. */
int submission_put_bytes(struct submission *submission, json_t *files, const void *bytes,
                         size_t length, const char *name, struct error *error);

/* Each adds the jobs of its kind; -1 with the error. */
int submit_spans(struct submission *submission, struct error *error);
int submit_suite(struct submission *submission, struct error *error);
int submit_slogs(struct submission *submission, struct error *error);

#endif
