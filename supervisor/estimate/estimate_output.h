/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_ESTIMATE_ESTIMATE_OUTPUT_H
#define GASPIPE_SUPERVISOR_ESTIMATE_ESTIMATE_OUTPUT_H

#include <jansson.h>

#include "base/buf.h"
#include "supervisor/estimate/cost.h"
#include "supervisor/process/fingerprint.h"

/* Records of costs, which --save, --history and --compare read and write. */

/* An estimate's result. Text is borrowed. */
struct estimate {
    const char *suite;
    const char *label;                      /* "": the fingerprint's beginning */
    char fingerprint[FINGERPRINT_HEX_SIZE]; /* of what counted; "": not known */
    struct costs costs;
};

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

/*
 * Reads a line of kind "cost" that estimate_print_json() printed. Text is borrowed from it. -1 with
 * ERROR_INPUT: not such a line.
 */
int estimate_read_cost(struct cost *cost, const json_t *line, struct error *error);

/* A table of the costs for people, in their order. Failure stays in *out. */
void estimate_print_table(struct buf *out, const struct estimate *estimate);

/* The same as JSON: {"kind":"cost",...} for each, then {"kind":"summary",...}. */
void estimate_print_json(struct buf *out, const struct estimate *estimate);

/*
 * Appends a line for each cost that moved by more than `allow` percent since the record, or is
 * gone; as JSON {"kind":"moved",...}. Returns how many. A new cost has a line, too, but does not
 * count. `only`: the pattern of --only; costs that it left out are not gone; NULL: none.
 */
size_t estimate_compare(const struct estimate *estimate, const json_t *record, const char *only,
                        double allow, bool json, struct buf *out);

/*
 * Writes an HTML page without scripts: a table of the costs, each with a plot over the records of
 * `history` (NULL: no plots). 0, or -1 with the error.
 */
int estimate_page_write(const char *path, const char *history, const struct estimate *estimate,
                        struct error *error);

#endif
