/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_SOURCE_ARCHIVE_FOLDER_H
#define GASPIPE_SUPERVISOR_REPLAY_SOURCE_ARCHIVE_FOLDER_H

#include "base/error.h"
#include "supervisor/replay/source/source.h"

/*
 * A folder of archived transcripts, as a chain's vat-transcript-archive-dir: each file, compressed
 * or not, is a span of a vat and called transcript.VATID.FIRST.END; or all of a vat,
 * transcript-VATID.sst.
 */

struct archive_file {
    char *path;   /* owned */
    char *vat_id; /* owned */
    int64_t first, end;
    int64_t size; /* bytes of the file */
};

/* By vat and position. All zeros: none. */
struct archive_files {
    struct archive_file *files; /* owned */
    size_t count, capacity;
};

/* Whether it is a folder, other than one that is or holds a swing-store. */
bool archive_folder_is_one(const char *path);

/*
 * Adds the files of the selection, whose vats have to be given by ID. -1 with ERROR_INPUT (there
 * is no transcript in the folder, or none of the selection) or ERROR_SYSTEM. archive_files_free()
 * in any case.
 */
int archive_folder_read(struct archive_files *files, const char *path,
                        const struct source_selection *selection, struct error *error);

void archive_files_free(struct archive_files *files);

#endif
