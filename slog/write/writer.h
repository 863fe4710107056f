/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_WRITE_WRITER_H
#define GASPIPE_SLOG_WRITE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/stamp.h"

/*
 * Writes a slogfile: SwingSet's line types and fields in SwingSet's order, one
 * JSON object a line (docs/slog-format.md).
 *
 * A line is begun, gets its fields, and is ended with the stamp of the moment
 * that it tells of, which the caller took when the frame came or went:
 *
 *     slog_line_delivery(writer, "deliver", &delivery);
 *     slog_field_raw(writer, "kd", kd.data, kd.length);
 *     slog_field_raw(writer, "vd", vd.data, vd.length);
 *     if (slog_line_end(writer, sent, error) != 0)
 *         ...
 *
 * Lines gather in memory and are written whole, by slog_writer_flush() (at the
 * end of a block of cranks) and when much has gathered. A field that goes wrong (memory,
 * a raw newline) makes slog_line_end() fail, and that line alone is dropped.
 *
 * `monotime` is the stamp's CLOCK_MONOTONIC less the session's monoBase, in
 * seconds with nine decimals. The slog-start line holds monoBase in
 * nanoseconds, so that monoBase + monotime compares with a worker's
 * `monotimes` to the nanosecond.
 */

struct slog_writer;

/* Room for a session id and its '\0'. */
enum { SLOG_SESSION_SIZE = 64 };

/* When a slogfile goes on in another part (slog/write/slog_file.h); zeros: never. */
struct slog_rotation {
    int64_t bytes;  /* when a part is as long on the disk, */
    int64_t blocks; /* or that many flushes were written to it */
};

struct slog_start {
    const char *program; /* name and version of who writes, "gaspipe 0.1.0" */
    struct stamp stamp;  /* the session's beginning; its mono becomes monoBase */
    /* What its counts of instructions depend on; NULL: there are none. */
    const char *fingerprint;
    const char *sandbox; /* of workers, in words; NULL: not told */
    struct slog_rotation rotation;
};

/* What the lines of one delivery have in common. */
struct slog_delivery {
    bool replay;
    int64_t crank_num; /* not written in a replay, which has no crank */
    const char *vat_id;
    int64_t delivery_num;
    const char *dispatch; /* "message", "notify", …; not on syscalls and consoles */
};

/*
 * Opens `path` to append to it, making the file when it is missing, locks it
 * against a second writer (flock), and writes the slog-start line at once, so
 * that a full disk is met here. After a torn last line it begins a new one. A
 * name that ends with ".zst" makes a Zstandard file. NULL on failure, with
 * ERROR_SYSTEM, ERROR_INPUT (a ".zst" that holds something else) or ERROR_USAGE
 * (rotation of what is no regular file). Owned by the caller:
 * slog_writer_close(). `start` is copied.
 */
struct slog_writer *slog_writer_open(const char *path, const struct slog_start *start,
                                     struct error *error);

/*
 * Writes what has gathered, so that it can be read even if this process is killed
 * next, and ends a block of lines that belong together: a slogfile is cut into
 * parts between blocks only. On failure (ERROR_SYSTEM: disk full, input/output)
 * no half line is left where the file can be cut back, and the lines not
 * written stay gathered, so that a later flush writes them.
 */
int slog_writer_flush(struct slog_writer *writer, struct error *error);

/*
 * Leaves a place for lines that are not known yet. Blocks that end behind it are kept in memory,
 * also by a flush, until slog_gap_fill(); what was not filled when the writer is closed is left
 * out. False: SLOG_GAPS_MAX are left already. No line may be begun.
 */
enum { SLOG_GAPS_MAX = 16 };
bool slog_gap_leave(struct slog_writer *writer);

/* Puts the lines of a deferred writer (see below) into the first gap, and frees it; also when it
 * fails. */
int slog_gap_fill(struct slog_writer *writer, struct slog_writer *lines, struct error *error);

/* Flushes, closes and frees; frees also when it fails. NULL is allowed. */
int slog_writer_close(struct slog_writer *writer, struct error *error);

/*
 * A writer of the same session whose lines are kept until they have their place. NULL when
 * memory ran out.
 */
struct slog_writer *slog_writer_deferred(const struct slog_writer *writer);

/*
 * Appends the lines of `deferred` to those of the other, and frees it; frees also when it fails. No
 * line may be begun in either. NULL as `writer`: they are dropped. NULL as `deferred` is allowed.
 */
int slog_writer_join(struct slog_writer *writer, struct slog_writer *deferred, struct error *error);

/* Begin a line of any type. The one before must have been ended. */
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

/* Fields, in the order of the calls. Names are plain words that need no escape. */
void slog_field_string(struct slog_writer *writer, const char *name, const char *bytes,
                       size_t length);
void slog_field_text(struct slog_writer *writer, const char *name, const char *text);
void slog_field_integer(struct slog_writer *writer, const char *name, int64_t number);
void slog_field_bool(struct slog_writer *writer, const char *name, bool truth);
void slog_field_null(struct slog_writer *writer, const char *name);

/*
 * JSON text as it is. The caller vouches that it is one whole JSON value; it
 * must hold no newline byte, which would tear the line, and that is checked.
 */
void slog_field_raw(struct slog_writer *writer, const char *name, const char *json, size_t length);

/* Puts `time` and `monotime` and ends the line. */
int slog_line_end(struct slog_writer *writer, struct stamp stamp, struct error *error);

/* The same for *-finish and *-result lines, with `seconds` since `started` after monotime. */
int slog_line_finish(struct slog_writer *writer, struct stamp started, struct stamp stamp,
                     struct error *error);

#endif
