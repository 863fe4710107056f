/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OUTPUT_OUTPUT_H
#define GASPIPE_TOOLS_OUTPUT_OUTPUT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "slog/model/model.h"
#include "tools/input/feed.h"

/*
 * Writes the buffer to standard output and empties it. -1 with ERROR_SYSTEM if that fails, or if
 * the buffer had failed.
 */
int output_flush(struct buf *out, struct error *error);

/* The same if it has tens of kilobytes. */
int output_flush_if_much(struct buf *out, struct error *error);

/* Readable numbers: three digits and a unit. */

enum { UNITS_SIZE = 24 };

/* "950 ns", "76.1 µs", "1.23 ms", "2.50 s", "123 s" */
void units_time(char text[UNITS_SIZE], uint64_t nanoseconds);

/* "950", "12.3 k", "1.23 M", "45.6 G" */
void units_count(char text[UNITS_SIZE], uint64_t count);

/* Appends text padded on the left to `width` columns. */
void units_pad(struct buf *out, const char *text, size_t width);

/* The same for a time; negative ones are 0. */
void units_pad_time(struct buf *out, int64_t nanoseconds, size_t width);

/* The same for a difference of times, with its sign. */
void units_pad_change(struct buf *out, int64_t nanoseconds, size_t width);

/*
 * A field of comma-separated values, in quotes if needed; spreadsheets do not read it as a
 * formula.
 */
void units_csv_text(struct buf *out, const char *text);

/*
 * Nanoseconds since the epoch as date and time of UTC to the microsecond, in the form of --since:
 * 2026-11-21T00:03:41.232871Z. Seconds since the epoch if that fails.
 */
void units_append_moment(struct buf *out, int64_t nanoseconds);

/*
 * If there are several runs, lists them on stderr and says what becomes of them: "are added up".
 * `input` is the name of the file, or NULL.
 */
void explain_runs(const struct model_totals *totals, const char *input, const char *what);

/*
 * An output format. Each function appends to `out`, whose failure the caller checks; unused ones
 * are NULL.
 */
struct render_ops {
    void (*begin)(struct buf *out);
    void (*delivery)(struct buf *out, const struct model_delivery *delivery);
    void (*note)(struct buf *out, const struct model_note *note);
    void (*inbound)(struct buf *out, const struct model_inbound *inbound);
    void (*phase)(struct buf *out, const struct phase_span *span);
    void (*block)(struct buf *out, const struct phase_block *block);
    void (*end)(struct buf *out, const struct tally *tally, uint64_t deliveries);
    bool labels; /* needs model_event.label */
};

extern const struct render_ops render_text;        /* text, delivery by delivery */
extern const struct render_ops render_json;        /* one JSON object a line */
extern const struct render_ops render_json_causes; /* the same with causes */
extern const struct render_ops render_csv;         /* RFC 4180, one row a delivery */
extern const struct render_ops render_csv_priced;  /* the same with its gas */

#endif
