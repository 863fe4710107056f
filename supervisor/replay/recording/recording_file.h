/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_RECORDING_RECORDING_FILE_H
#define GASPIPE_SUPERVISOR_REPLAY_RECORDING_RECORDING_FILE_H

#include "base/error.h"
#include "proto/recording.h"

/* Reads a session that gaspipe-worker --record wrote, a frame at a time. */
struct recording_file;

/* Whether the file at that path begins as one does; false too when it cannot be read. */
bool recording_file_is_one(const char *path);

/* NULL with ERROR_INPUT (file named) or ERROR_SYSTEM. */
struct recording_file *recording_file_open(const char *path, struct recording_head *head,
                                           struct error *error);

/*
 * 1 with the next frame, which is borrowed until the next call; 0 at the end; -1 with
 * ERROR_INPUT, file and frame named. A last record that a crash has cut is the end.
 */
int recording_file_next(struct recording_file *file, struct recorded_frame *frame,
                        struct error *error);

/* Whether the end was in the midst of a record. */
bool recording_file_is_torn(const struct recording_file *file);

/* NULL is allowed. */
void recording_file_close(struct recording_file *file);

#endif
