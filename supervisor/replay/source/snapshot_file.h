/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_SOURCE_SNAPSHOT_FILE_H
#define GASPIPE_SUPERVISOR_REPLAY_SOURCE_SNAPSHOT_FILE_H

#include "base/error.h"
#include "supervisor/replay/source/source.h"

/*
 * Copies a snapshot to `fd`, from its place on, out of a file that may be compressed (gzip or
 * Zstandard). -1 with ERROR_INPUT when its bytes do not have that SHA-256, in hexadecimal
 * digits, or ERROR_SYSTEM.
 */
int snapshot_file_copy(const char *path, struct scan_span hash, int fd, struct error *error);

/* The same out of memory; `name` is how messages call it. */
int snapshot_bytes_copy(const char *name, const void *bytes, size_t length, struct scan_span hash,
                        int fd, struct error *error);

/* The same out of an open file, from its start. */
int snapshot_descriptor_copy(const char *name, int packed, struct scan_span hash, int fd,
                             struct error *error);

/*
 * The one that a SOURCE_SNAPSHOT_LOADED tells of, out of a folder of archived snapshots, as
 * Agoric's vat-snapshot-archive-dir: snapshot.VATID.POSITION, or HASH, each with .gz, .zst or
 * nothing behind it. *found is false when it is not there.
 */
int snapshot_archive_copy(const char *folder, const struct source_event *event, int fd, bool *found,
                          struct error *error);

#endif
