/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_PIPE_RECORDER_H
#define GASPIPE_WORKER_PIPE_RECORDER_H

#include <sys/uio.h>

#include "base/error.h"
#include "proto/recording.h"

/*
 * Writes a session's frames into a file of its own, DIR/START-PID.frames, where START is
 * the time in microseconds since the epoch (docs/recording-format.md). What it cannot write
 * does not hurt the session: it says so once and records no more.
 */
struct recorder;

/* NULL with ERROR_SYSTEM. The folder is made where it is missing. */
struct recorder *recorder_open(const char *folder, const struct recording_head *head,
                               struct error *error);

/* At most NETSTRING_PARTS_MAX - 1 parts. NULL records nothing. */
void recorder_take(struct recorder *recorder, enum recording_direction direction,
                   struct stamp stamp, const struct iovec *parts, int count);

/*
 * Copies the snapshot that the session goes on from to DIR/START-PID.snapshot, since the
 * place that it comes from may be readable once only. The copy's path, the recorder's, or
 * NULL with ERROR_SYSTEM.
 */
const char *recorder_keep_snapshot(struct recorder *recorder, const char *place,
                                   struct error *error);

/* NULL is allowed. */
void recorder_close(struct recorder *recorder);

#endif
