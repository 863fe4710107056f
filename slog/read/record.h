/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READ_RECORD_H
#define GASPIPE_SLOG_READ_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json/scan.h"

/* One line of a slogfile with its fields (docs/slog-format.md). */

enum record_type {
    RECORD_OTHER, /* only its time and name matter */
    RECORD_SLOG_START,
    RECORD_KERNEL_START, /* the first lines of a kernel process */
    RECORD_KERNEL_FINISH,
    RECORD_CREATE_VAT,
    RECORD_VAT_START,
    RECORD_VAT_STARTED,
    RECORD_START_REPLAY,
    RECORD_FINISH_REPLAY,
    RECORD_SNAPSHOT_SAVE,
    RECORD_SNAPSHOT_LOAD,
    RECORD_VAT_CLEANUP,
    RECORD_CRANK_START,
    RECORD_CRANK_FINISH,
    RECORD_CLIST,
    RECORD_DELIVER,
    RECORD_DELIVER_RESULT,
    RECORD_SYSCALL,
    RECORD_SYSCALL_RESULT,
    RECORD_CONSOLE,
    /* From cosmic-swingset: */
    RECORD_BOOTSTRAP_START,
    RECORD_BOOTSTRAP_FINISH,
    RECORD_UPGRADE_START,
    RECORD_UPGRADE_FINISH,
    RECORD_BEGIN_BLOCK,
    RECORD_END_BLOCK_START,
    RECORD_END_BLOCK,
    RECORD_COMMIT_START,
    RECORD_COMMIT_FINISH,
    RECORD_AFTER_COMMIT,
    RECORD_RUN_START,
    RECORD_RUN_FINISH,
    RECORD_INBOUND,      /* an event from outside that may begin work; type_name says which */
    RECORD_PHASE_START,  /* of a type that is not known, X-start; type_name says which */
    RECORD_PHASE_FINISH, /* X-finish */
    RECORD_TOO_BIG,      /* replaces a record that did not fit the flight recorder; has no time */
    RECORD_TYPES,
};

/* A numeric field that the line does not have. */
#define RECORD_NONE INT64_MIN

struct record {
    enum record_type type;
    bool replay;       /* false if absent */
    int64_t time;      /* nanoseconds since the epoch, to the microsecond */
    int64_t monotime;  /* nanoseconds since the kernel's process began, or RECORD_NONE */
    int64_t crank_num; /* this and the next ones are RECORD_NONE if absent */
    int64_t delivery_num;
    int64_t syscall_num;
    int64_t block_height;
    int64_t version;                   /* in slog-start */
    int64_t mono_base;                 /* in slog-start, nanoseconds of CLOCK_MONOTONIC */
    int64_t cpu_wait, worker_cpu_wait; /* in deliver-result, nanoseconds */
    /* Borrowed from the line; strings without quotes, escapes as they are. */
    struct scan_span type_name, vat_id, dispatch, syscall, name, session, mode;
    /* JSON text, borrowed. */
    struct scan_span kd, vd, dr, ksc, vsc, ksr, vsr;
    /* The object itself, for rare members: record_member(). */
    struct scan_span object;
    struct scan_span line; /* the whole line */
};

/*
 * Parses a line without its newline; SCAN_PADDING bytes after it must be readable. Accepts
 * SwingSet's form and cosmic-swingset's context-aware form,
 * {"body":{…},"attributes":{…},"time":…}. Returns false if it is not a slog line; *why is then a
 * reason in a few words (static text).
 */
bool record_read(const char *line, size_t length, struct record *record, const char **why);

/*
 * The same for lines that may lack a time, as in transcripts extracted from slogfiles or kernel
 * databases.
 */
bool record_read_timeless(const char *line, size_t length, struct record *record, const char **why);

/* Any other member of the line, as text; an empty span if absent. */
struct scan_span record_member(const struct record *record, const char *name);

/* The same as a number; NAN if absent. */
double record_number(const struct record *record, const char *name);

#endif
