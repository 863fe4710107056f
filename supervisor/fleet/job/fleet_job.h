/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_JOB_FLEET_JOB_H
#define GASPIPE_SUPERVISOR_FLEET_JOB_FLEET_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "supervisor/fleet/transport/transport.h"

/*
 * What a worker of a fleet has to do, as JSON. To replay one span of a vat's transcript:
 *     {"version":1,"kind":"replay","vatID","vat","first","end","deliveries",
 *      "transcript":HASH,"snapshot":HASH or "","bundles":[{"object":HASH,"vat":"v1" or ""}],
 *      "arguments":["--tolerate=gc"],"fingerprint":HASH}
 * and where the source stays in a shared folder "source" (shared_span.h), with the SHA-256 of
 * objects and of the worker that it is for (fleet_fingerprint.h). Any other kind runs a program
 * over files:
 *     {"version":1,"kind":"estimate","name":"ed25519_verify",
 *      "files":[{"name":"suite.json","object":HASH},...],"arguments":[...],"fingerprint":HASH}
 * Either may have "gas", the weights of a gas model (job_gas.h). job_kind.h lists the kinds. A
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

#endif
