/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READ_RECORD_H
#define GASPIPE_SLOG_READ_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json/scan.h"

/* One line of a slogfile with its fields found (docs/slog-format.md). */

enum record_type {
    RECORD_OTHER, /* of no interest beyond its time */
    RECORD_SLOG_START,
    RECORD_KERNEL_START, /* the first lines of a kernel's process */
    RECORD_CREATE_VAT,
    RECORD_START_REPLAY,
    RECORD_FINISH_REPLAY,
    RECORD_CRANK_START,
    RECORD_CRANK_FINISH,
    RECORD_DELIVER,
    RECORD_DELIVER_RESULT,
    RECORD_SYSCALL,
    RECORD_SYSCALL_RESULT,
    RECORD_CONSOLE,
    RECORD_BEGIN_BLOCK,
    RECORD_END_BLOCK,
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
    struct scan_span vat_id, dispatch, syscall, name, session;
    /* JSON text, borrowed. */
    struct scan_span kd, vd, dr, ksc, vsc, ksr, vsr;
};

/*
 * Reads a line (without its newline; SCAN_PADDING readable bytes behind it).
 * False when it is no slog line, and *why says in a few words what is wrong
 * (static text).
 */
bool record_read(const char *line, size_t length, struct record *record, const char **why);

#endif
