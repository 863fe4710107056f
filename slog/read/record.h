/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READ_RECORD_H
#define GASPIPE_SLOG_READ_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json/scan.h"

/* One line of a slogfile with its fields found (docs/slog-format.md). */

enum record_type {
    RECORD_OTHER, /* of no interest beyond its time and its name */
    RECORD_SLOG_START,
    RECORD_KERNEL_START, /* the first lines of a kernel's process */
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
    /* Those of cosmic-swingset. */
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
    RECORD_INBOUND, /* what came from outside and may begin work: its type_name says what */
    RECORD_TOO_BIG, /* the flight recorder's, in place of a record without room; has no time */
    RECORD_TYPES,
};

/* What a numeric field is when the line does not have it. */
#define RECORD_NONE INT64_MIN

struct record {
    enum record_type type;
    bool replay;       /* false where not said */
    int64_t time;      /* nanoseconds since the epoch, to the microsecond */
    int64_t monotime;  /* nanoseconds since the kernel's process began, or RECORD_NONE */
    int64_t crank_num; /* this and the next ones: as said, or RECORD_NONE */
    int64_t delivery_num;
    int64_t syscall_num;
    int64_t block_height;
    int64_t version;   /* of slog-start */
    int64_t mono_base; /* of slog-start, nanoseconds of CLOCK_MONOTONIC */
    /* Borrowed from the line; strings without quotes, escapes as they are. */
    struct scan_span type_name, vat_id, dispatch, syscall, name, session, mode;
    /* JSON text, borrowed. */
    struct scan_span kd, vd, dr, ksc, vsc, ksr, vsr;
    /* The object itself, for members that few lines have: record_member(). */
    struct scan_span object;
    struct scan_span line; /* all of it, as it is */
};

/*
 * Reads a line (without its newline; SCAN_PADDING readable bytes behind it), either as
 * SwingSet writes it or with its context, as cosmic-swingset's context-aware slog has it:
 * {"body":{…},"attributes":{…},"time":…}. False when it is not a slog line, and *why says
 * in a few words what is wrong (static text).
 */
bool record_read(const char *line, size_t length, struct record *record, const char **why);

/* The same where a line need not have a time, as in transcripts that were extracted from slogfiles
 * or kernel databases. */
bool record_read_timeless(const char *line, size_t length, struct record *record, const char **why);

/* Any other member of the line, as text; no span when there is none. */
struct scan_span record_member(const struct record *record, const char *name);

/* The same as a number; NAN when there is none. */
double record_number(const struct record *record, const char *name);

#endif
