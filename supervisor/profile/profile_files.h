/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_PROFILE_FILES_H
#define GASPIPE_SUPERVISOR_PROFILE_PROFILE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/output/output_file.h"
#include "base/output/packer.h"
#include "base/profile/profile.h"
#include "base/profile/profile_write.h"

/*
 * Writes the cost of deliveries by function to files, as JSON lines or as folded stacks for flame
 * graphs (docs/profile-format.md). Gathers lines by crank, and writes them when their crank is
 * committed.
 */
enum profile_format { PROFILE_JSON, PROFILE_FOLDED };

struct profile_file {
    enum profile_format format;
    struct output_file file;
    struct buf gathered;   /* lines that are not written yet */
    size_t kept;           /* how much of it is not undone with a crank */
    struct packer *packer; /* of a file whose name ends in .zst; else NULL */
};

/* The files of --profile and --profile-folded, each if it was asked for. All zeros: neither. */
struct profile_files {
    struct profile_file files[2];
    size_t count;
};

/* The user's paths; NULL: not wanted. */
struct profile_paths {
    const char *json, *folded;
};

/* A delivery and its meter's values. Texts are borrowed. */
struct profiled_delivery {
    struct profile_delivery delivery;
    struct iovec profile; /* JSON; empty: none */
    bool counted;
    uint64_t instructions; /* when counted */
    bool costed;
    uint64_t block_cost; /* when costed */
};

/* Creates the files, which can be read while they grow; one whose name ends in .zst is compressed.
 * -1 with ERROR_SYSTEM; profile_files_close() in any case. */
int profile_files_open(struct profile_files *files, struct profile_paths paths,
                       struct error *error);

/* Refuses, with ERROR_USAGE, paths that are this input of the command. */
int profile_files_check_input(struct profile_paths paths, const char *input, struct error *error);

/* Gathers a delivery's profile, summed up. -1 with ERROR_SYSTEM without memory. */
int profile_files_put(struct profile_files *files, const struct profile *profile,
                      const struct profile_delivery *delivery, enum profile_frame frame,
                      struct error *error);

/* Gathers the delivery's profile by JavaScript function, if it has one. -1 also with ERROR_INPUT
 * when the worker's profile is invalid. */
int profile_files_add(struct profile_files *files, const struct profiled_delivery *delivery,
                      struct error *error);

/* Keeps what was gathered; drops what was gathered since the last call, as its crank is undone. */
void profile_files_keep(struct profile_files *files);
void profile_files_undo(struct profile_files *files);

/* Writes what was gathered; drops it. */
int profile_files_flush(struct profile_files *files, struct error *error);
void profile_files_drop(struct profile_files *files);

/* Flushes and closes. */
int profile_files_close(struct profile_files *files, struct error *error);

/*
 * Reads the member `profile` of a meter record: a delivery's cost by JavaScript function, summed
 * up. `instructions` is the whole delivery's count; those that no node has count for the engine.
 * -1: not counted, only computrons. 0, or -1 with ERROR_INPUT for an invalid profile, or
 * ERROR_SYSTEM if out of memory. To be closed in any case.
 */
int script_profile_read(struct profile *profile, struct iovec json, int64_t instructions,
                        struct error *error);

#endif
