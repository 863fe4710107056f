/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_PROFILE_FILE_H
#define GASPIPE_SUPERVISOR_PROFILE_PROFILE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/output/output_file.h"
#include "base/output/packer.h"

/*
 * What deliveries cost by function and by line of their contracts, as files: JSON lines, or
 * folded stacks for flame graphs (docs/profile-format.md).
 */
enum profile_format { PROFILE_JSON, PROFILE_FOLDED };

struct profile_file {
    enum profile_format format;
    struct output_file file;
    struct buf gathered;   /* lines that are not written yet */
    size_t kept;           /* how much of it is not undone with a crank */
    struct packer *packer; /* of a file whose name ends in .zst; else NULL */
};

/* A number that is not known; that of a crank. */
#define PROFILE_NO_NUMBER INT64_MIN
#define PROFILE_NO_CRANK  PROFILE_NO_NUMBER

/* A delivery with its profile. Texts are borrowed. */
struct profiled_delivery {
    const char *vat_id, *vat, *method;
    int64_t crank_num, delivery_num;
    struct iovec profile; /* of its meter, JSON */
    bool counted;
    uint64_t instructions; /* of its meter, when counted */
    bool costed;
    uint64_t block_cost; /* of its meter, when costed */
};

/* Creates the file anew; one whose name ends in .zst is compressed. It can be read while it grows.
 * 0, or -1 with ERROR_SYSTEM. */
int profile_file_open(struct profile_file *file, const char *path, enum profile_format format,
                      struct error *error);

/* The first members of a line about the delivery, `{"kind":KIND,...`, and one more with a text
 * (NULL: null) or a number. */
void profile_file_put_head(struct buf *line, const char *kind,
                           const struct profiled_delivery *delivery);
void profile_file_put_text(struct buf *line, const char *name, const char *text);
void profile_file_put_count(struct buf *line, const char *name, int64_t number, bool known);

/*
 * Of a line about a delivery's tree of calls: [NAME,FILE,LINE] of a function, the file NULL and the
 * line 0 where there is none; and [CALLER,FUNCTION,CALLS,COMPUTRONS,INSTRUCTIONS,...] of a node.
 */
void profile_file_put_function(struct buf *line, const char *name, const char *file,
                               int64_t number);
void profile_file_put_node(struct buf *line, const int64_t *numbers, size_t count);

/* A frame of a folded stack. */
void profile_file_put_frame(struct buf *line, const char *text);

/* Gathers the delivery's lines. -1 with ERROR_INPUT when the worker's profile is none. */
int profile_file_add(struct profile_file *file, const struct profiled_delivery *delivery,
                     struct error *error);

/* What was gathered stays; what was gathered since then is dropped: its crank is undone. */
void profile_file_keep(struct profile_file *file);
void profile_file_undo(struct profile_file *file);

/* Writes what was gathered; drops it. */
int profile_file_flush(struct profile_file *file, struct error *error);
void profile_file_drop(struct profile_file *file);

/* Flushes and closes; a file that was never opened, all zeros, may be closed. */
int profile_file_close(struct profile_file *file, struct error *error);

#endif
