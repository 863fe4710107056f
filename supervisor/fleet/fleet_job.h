/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_FLEET_JOB_H
#define GASPIPE_SUPERVISOR_FLEET_FLEET_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "supervisor/fleet/transport/transport.h"

/*
 * What a worker of a fleet has to do: replay one span of a vat's transcript. A job is JSON,
 *     {"version":1,"kind":"replay","vatID","vat","first","end","deliveries",
 *      "transcript":HASH,"snapshot":HASH or "","bundles":[{"object":HASH,"vat":"v1" or ""}],
 *      "arguments":["--tolerate=gc"],"fingerprint":HASH}
 * with the SHA-256 of objects and of the worker that it is for (fleet_fingerprint.h). Its ID is
 * the SHA-256 of that text, so the same work has the same ID, whoever asks for it.
 */
struct fleet_job {
    json_t *json;    /* owned */
    struct buf text; /* as it is kept */
    char id[FLEET_HASH_SIZE];
};

/* Takes the JSON over, also on failure. -1 with ERROR_SYSTEM. */
int fleet_job_make(struct fleet_job *job, json_t *json, struct error *error);

/*
 * Reads a job that others have written: nothing of it is used before it is checked. `name` is how
 * messages call it. -1 with ERROR_INPUT: it is no job, one of another version, or not the one
 * that has this ID; NULL: any will do. fleet_job_free() in any case.
 */
int fleet_job_read(struct fleet_job *job, const char *name, const char *text, size_t length,
                   const char *id, struct error *error);

/* Members; "" and 0 for those that it has not. Borrowed. */
const char *fleet_job_text(const struct fleet_job *job, const char *member);
int64_t fleet_job_number(const struct fleet_job *job, const char *member);

/* Appends "v5, deliveries 10 to 20". */
void fleet_job_describe(const struct fleet_job *job, struct buf *out);

void fleet_job_free(struct fleet_job *job);

#endif
