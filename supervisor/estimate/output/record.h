/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_ESTIMATE_OUTPUT_RECORD_H
#define GASPIPE_SUPERVISOR_ESTIMATE_OUTPUT_RECORD_H

#include <jansson.h>

#include "base/buf.h"
#include "supervisor/estimate/cost.h"
#include "supervisor/process/fingerprint.h"

/* Costs that are kept: what --save, --history and --compare read and write. */

/* What an estimate came to. Text is borrowed. */
struct estimate {
    const char *suite;
    const char *label;                      /* "": the fingerprint's beginning */
    char fingerprint[FINGERPRINT_HEX_SIZE]; /* of what counted; "": not known */
    struct costs costs;
};

/* The name of a cost: its operation's, with " per byte" or the like behind. */
void estimate_record_name(struct buf *name, const struct cost *cost);

/*
 * Appends
 * {"kind":"estimate","version":1,"suite":NAME,"label":TEXT,"fingerprint":HASH,"costs":{NAME:
 * NUMBER}} as a line: the amounts of each cost's main measure. Failure stays in *out.
 */
void estimate_record_write(struct buf *out, const struct estimate *estimate);

/*
 * The records of the suite in a file, oldest first, as an array that the caller owns. NULL with
 * ERROR_INPUT (file and line) or ERROR_SYSTEM.
 */
json_t *estimate_record_read(const char *path, const char *suite, struct error *error);

/* Appends the record to a file, in one write. 0, or -1 with ERROR_SYSTEM. */
int estimate_record_append(const char *path, const struct estimate *estimate, struct error *error);

#endif
