/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_PROFILE_FILES_H
#define GASPIPE_SUPERVISOR_PROFILE_PROFILE_FILES_H

#include "supervisor/profile/profile_file.h"

/* The files of --profile and --profile-folded, each if it was asked for. All zeros: neither. */
struct profile_files {
    struct profile_file files[2];
    size_t count;
};

/* What the user asked for; NULL: not asked for. */
struct profile_paths {
    const char *json, *folded;
};

/* Creates the files anew. -1 with ERROR_SYSTEM; profile_files_close() in any case. */
int profile_files_open(struct profile_files *files, struct profile_paths paths,
                       struct error *error);

/* Refuses, with ERROR_USAGE, paths that are this input of the command. */
int profile_files_check_input(struct profile_paths paths, const char *input, struct error *error);

/* As the functions of profile_file.h. A delivery without a profile adds nothing. */
int profile_files_add(struct profile_files *files, const struct profiled_delivery *delivery,
                      struct error *error);
void profile_files_keep(struct profile_files *files);
void profile_files_undo(struct profile_files *files);
int profile_files_flush(struct profile_files *files, struct error *error);
void profile_files_drop(struct profile_files *files);
int profile_files_close(struct profile_files *files, struct error *error);

#endif
