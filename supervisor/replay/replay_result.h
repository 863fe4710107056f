/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_REPLAY_RESULT_H
#define GASPIPE_SUPERVISOR_REPLAY_REPLAY_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "gas/gas_model.h"
#include "supervisor/transcript/delivery_compare.h"

/* The result of replaying one vat. */

enum replay_status {
    REPLAY_SAME,
    REPLAY_SKIPPED, /* it was not replayed, or not to the end; `why` says why */
    REPLAY_DIFFERS, /* `difference` says where */
};

/* Counts of what was the same. */
struct replay_counts {
    int64_t deliveries, syscalls;
    int64_t computed;     /* deliveries whose computrons were compared, */
    int64_t computrons;   /* and their sum */
    int64_t counted;      /* deliveries whose instructions were compared, */
    int64_t instructions; /* and their sum */
    int64_t snapshots;    /* whose hashes were the same */
    int64_t cut;          /* deliveries that the recording does not finish */
    int64_t tolerated;    /* differences that were reported and tolerated */
    int64_t against;      /* deliveries that were the same in a second worker */
    int64_t priced;       /* deliveries whose gas is known, */
    int64_t gas;          /* and their sum; INT64_MAX: or more */
};

enum { REPLAY_WHY_SIZE = 320 };

struct replay_result {
    char *id;   /* "v1"; owned */
    char *name; /* owned; "" when the source does not say */
    enum replay_status status;
    char why[REPLAY_WHY_SIZE];
    struct difference difference; /* the first one */
    bool is_against;              /* what it calls recorded is of the first worker, not recorded */
    char *file;                   /* whose line it is in; owned; NULL if none */
    int64_t first_num;            /* the number of the first delivery */
    int64_t delivery_num;         /* of the last delivery */
    struct buf description;       /* of the same */
    struct replay_counts counts;
};

void replay_counts_add(struct replay_counts *sum, const struct replay_counts *counts);

void replay_result_free(struct replay_result *result);

/* Notes that are printed during a replay: tolerated differences, and deliveries. */
struct replay_notes {
    struct buf lines;            /* that are still to be printed */
    bool json;                   /* as JSON lines; otherwise the differences only */
    bool deliveries;             /* with `json`: each delivery, too */
    const struct gas_model *gas; /* prices deliveries; borrowed; NULL: nothing does */
};

/* How one delivery went. */
struct replay_note_delivery {
    const char *status; /* "same", "differs", "cut" */
    size_t syscalls;
    const struct recorded_result *recorded;
    const struct meter *meter; /* NULL: it has none */
};

/* Notes the vat's last delivery, and adds its price to the result's. Out of memory shows in
 * `lines`. */
void replay_note_tolerated(struct replay_notes *notes, struct replay_result *result,
                           const struct difference *difference);
void replay_note_delivery(struct replay_notes *notes, struct replay_result *result,
                          const struct replay_note_delivery *delivery);

/*
 * Prints on stdout what gaspipe replay found: where vats differ, both sides; a line for each
 * vat; a sum. 0, or -1 with ERROR_SYSTEM.
 */
int replay_output(struct replay_result *const *results, size_t count, bool json,
                  struct error *error);

/* As JSON lines for replay.c: each difference just before its vat, and no sum. */
int replay_output_part(struct replay_result *const *results, size_t count, struct error *error);

/* The output of a process that replayed a part of a source (gaspipe replay --part). */
struct replay_part {
    struct replay_result **results; /* owned, and so is each; NULL: taken over by another */
    size_t count, capacity;
    struct buf notes;     /* its lines that are no results */
    uint64_t failed_line; /* of the source, at which it failed with `failure`; 0: it did not */
    struct error failure;
};

/* Reads its lines into a part that is all zeros. The notes are JSON lines, or text without the
 * notes of single deliveries. Ignores lines of other kinds, which a fleet puts before them. -1 with
 * ERROR_SYSTEM. replay_part_free() in any case. */
int replay_part_read(struct replay_part *part, const char *text, size_t length, bool json,
                     struct error *error);

void replay_part_free(struct replay_part *part);

#endif
