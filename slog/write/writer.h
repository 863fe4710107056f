/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_WRITE_WRITER_H
#define GASPIPE_SLOG_WRITE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/stamp.h"

/*
 * Writes a slogfile: SwingSet's line types and fields in SwingSet's order, one JSON object per
 * line (docs/slog-format.md).
 *
 * Begin a line, add its fields, and end it with the stamp of its event, taken when the frame was
 * sent or received:
 *
 *     slog_line_delivery(writer, "deliver", &delivery);
 *     slog_field_raw(writer, "kd", kd.data, kd.length);
 *     if (slog_line_end(writer, sent, error) != 0)
 *         ...
 *
 * Lines are buffered. They are written whole by slog_writer_flush(), at the end of a block of
 * cranks, and when many are buffered. If a field is invalid (out of memory, a raw newline),
 * slog_line_end() fails and drops that line only.
 *
 * `monotime` is the stamp's CLOCK_MONOTONIC minus the session's monoBase, in seconds with nine
 * decimals. The slog-start line has monoBase in nanoseconds, so that monoBase + monotime compares
 * with a worker's `monotimes` to the nanosecond.
 */

struct slog_writer;

/* Size of a session id with its '\0'. */
enum { SLOG_SESSION_SIZE = 64 };

/* When a slogfile continues in another part (slog/write/slog_file.h); zeros: never. */
struct slog_rotation {
    int64_t bytes;  /* when a part has this size on disk, */
    int64_t blocks; /* or this many flushes were written to it */
};

struct slog_start {
    const char *program; /* name and version of the writer, "gaspipe 0.1.0" */
    struct stamp stamp;  /* the session's beginning; its mono becomes monoBase */
    /* Everything that instruction counts depend on; NULL if none are taken. */
    const char *fingerprint;
    const char *sandbox; /* of workers, as text; NULL if not logged */
    struct slog_rotation rotation;
};

/* Common fields of the lines of one delivery. */
struct slog_delivery {
    bool replay;
    int64_t crank_num; /* not written in a replay */
    const char *vat_id;
    int64_t delivery_num;
    const char *dispatch; /* "message", "notify", …; not on syscalls and consoles */
};

/*
 * Opens `path` for appending: creates it if absent, locks it against other writers (flock), and
 * writes the slog-start line at once, so that a full disk is reported here. A name that ends with
 * ".zst" makes a Zstandard file; a torn last line is ended first. NULL with ERROR_SYSTEM,
 * ERROR_INPUT (a ".zst" that holds something else) or ERROR_USAGE (rotation of a file that is not
 * regular). Owned by the caller: slog_writer_close(). `start` is copied.
 */
struct slog_writer *slog_writer_open(const char *path, const struct slog_start *start,
                                     struct error *error);

/*
 * Ends a block of lines that belong together and writes everything buffered, so that it can be
 * read even if this process is killed next. A slogfile is split into parts between blocks only. On
 * failure (ERROR_SYSTEM: disk full, I/O) no partial line is left if the file can be truncated, and
 * the unwritten lines stay buffered for a later flush.
 */
int slog_writer_flush(struct slog_writer *writer, struct error *error);

/* The same in two steps: the block is ended, and kept until the ended ones are written. */
int slog_writer_end_block(struct slog_writer *writer, struct error *error);
int slog_writer_flush_blocks(struct slog_writer *writer, struct error *error);

/*
 * Leaves a gap for lines that are not known yet. Blocks that end after it stay in memory, also
 * after a flush, until slog_gap_fill(). Closing the writer drops gaps. False if there are
 * SLOG_GAPS_MAX already. No line may be open.
 */
enum { SLOG_GAPS_MAX = 16 };
bool slog_gap_leave(struct slog_writer *writer);

/*
 * Puts the lines of a deferred writer (see below) into the first gap, and frees that writer, also
 * on failure.
 */
int slog_gap_fill(struct slog_writer *writer, struct slog_writer *lines, struct error *error);

/* Flushes, closes and frees, also on failure. NULL is allowed. */
int slog_writer_close(struct slog_writer *writer, struct error *error);

/*
 * A writer of the same session that buffers its lines until they have a place. NULL when out of
 * memory.
 */
struct slog_writer *slog_writer_deferred(const struct slog_writer *writer);

/*
 * Appends the lines of `deferred`, which is freed, also on failure. No line may be open in either.
 * If `writer` is NULL the lines are dropped; `deferred` may be NULL.
 */
int slog_writer_join(struct slog_writer *writer, struct slog_writer *deferred, struct error *error);

/* Begins a line of any type. The previous one must have been ended. */
void slog_line_begin(struct slog_writer *writer, const char *type);

/* "deliver" or "deliver-result": crankNum, vatID, deliveryNum, replay, dispatch. */
void slog_line_delivery(struct slog_writer *writer, const char *type,
                        const struct slog_delivery *delivery);

/* "syscall" or "syscall-result": crankNum, vatID, deliveryNum, syscallNum, replay, syscall. */
void slog_line_syscall(struct slog_writer *writer, const char *type,
                       const struct slog_delivery *delivery, int64_t syscall_num,
                       const char *syscall);

/*
 * "console" of a vat: source, state, crankNum, vatID, deliveryNum, level; the
 * caller adds `args`.
 */
void slog_line_console(struct slog_writer *writer, const struct slog_delivery *delivery,
                       const char *source, const char *level);

/* Append fields. Names need no escape. */
void slog_field_string(struct slog_writer *writer, const char *name, const char *bytes,
                       size_t length);
void slog_field_text(struct slog_writer *writer, const char *name, const char *text);
void slog_field_integer(struct slog_writer *writer, const char *name, int64_t number);
void slog_field_bool(struct slog_writer *writer, const char *name, bool truth);
void slog_field_null(struct slog_writer *writer, const char *name);

/*
 * Appends JSON text as it is. It must be one JSON value; a newline in it would tear the line and
 * makes slog_line_end() fail.
 */
void slog_field_raw(struct slog_writer *writer, const char *name, const char *json, size_t length);

/* Adds `time` and `monotime` and ends the line. */
int slog_line_end(struct slog_writer *writer, struct stamp stamp, struct error *error);

/* The same for *-finish and *-result lines, which also have `seconds` since `started`. */
int slog_line_finish(struct slog_writer *writer, struct stamp started, struct stamp stamp,
                     struct error *error);

#endif
