/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_STORED_TRANSCRIPT_H
#define GASPIPE_SUPERVISOR_STORED_TRANSCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/read/reader.h"
#include "store/store.h"

/*
 * The transcript of a vat that a store keeps, as the lines of an exported one
 * (supervisor/replay/transcript.h): a create-vat line with the bundle, then a line for
 * each delivery of the vat's present incarnation. Where it begins with the last
 * snapshot, a load-snapshot line stands in the place of what is before it, and the
 * numbers of lines go on as if all of them were there.
 */
struct stored_transcript;

/* A vat as the kernel knows it. */
struct stored_vat {
    int64_t id;
    const char *name; /* "" for none */
    const char *bundle_id;
    bool dynamic;
    int64_t incarnation;
    int64_t first_num; /* the number of the incarnation's first delivery */
};

/*
 * All is borrowed. Begins with the last snapshot, if there is one, or with the
 * incarnation. NULL with ERROR_INPUT when nothing is recorded from there on, or
 * ERROR_SYSTEM.
 */
struct stored_transcript *stored_transcript_open(struct store *store, const struct stored_vat *vat,
                                                 bool from_start, struct error *error);

/* 1 with the next line, borrowed until the call after it; 0 at the end; -1 with ERROR_SYSTEM. */
int stored_transcript_next(struct stored_transcript *transcript, struct reader_line *line,
                           struct error *error);

/* NULL is allowed. */
void stored_transcript_close(struct stored_transcript *transcript);

#endif
