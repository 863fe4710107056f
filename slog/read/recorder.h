/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SLOG_READ_RECORDER_H
#define GASPIPE_SLOG_READ_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * A flight recorder: the file of a fixed size that Agoric's nodes write by default, in which
 * the newest records take the place of the oldest (npm @agoric/telemetry 0.7.0,
 * src/flight-recorder.js). It is read as a slogfile of the records that are in it.
 *
 *     offset 0   "AG-SLOG!"
 *            8   size of the arena
 *           16   where the oldest record begins, from the arena's beginning
 *           24   where the newest one ends; equal to the former: there is none
 *           32   the arena, in which records go on at the beginning behind its end
 *
 * Numbers have 8 bytes, the highest first. A record is its length and then its bytes: a
 * newline (mostly) and a line of JSON.
 *
 * The file may be written while it is read. When the writer has overtaken the reader, or
 * a crash left the oldest record overwritten, reading goes on with the next whole record.
 */
#define RECORDER_MAGIC "AG-SLOG!"

struct recorder;

/* `fd` must be seekable and `path` (for messages) stay. NULL with ERROR_INPUT or ERROR_SYSTEM. */
struct recorder *recorder_open(int fd, const char *path, struct error *error);

/*
 * Reads up to `size` bytes of lines, each with its newline. Their number; 0 at the end of
 * what is there, after which more may come; -1 with ERROR_SYSTEM or ERROR_INPUT.
 */
ssize_t recorder_read(struct recorder *recorder, char *bytes, size_t size, struct error *error);

/* How many times records were lost, since the writer was faster or left no whole record. */
uint64_t recorder_losses(const struct recorder *recorder);

void recorder_close(struct recorder *recorder);

#endif
