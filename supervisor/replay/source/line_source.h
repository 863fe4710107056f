/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_SOURCE_LINE_SOURCE_H
#define GASPIPE_SUPERVISOR_REPLAY_SOURCE_LINE_SOURCE_H

#include "supervisor/replay/source/source.h"

/* Whether a file's name is transcript.VATID.FIRST.END, of a span, or transcript-VATID.sst, of a
 * vat; the vat's ID is borrowed from the path. */
bool line_source_read_name(const char *path, struct scan_span *vat_id, int64_t *first,
                           int64_t *end);

/*
 * Files of lines, compressed or not: slogfiles of ours or of SwingSet's, and transcripts. A
 * transcript has an entry a line (supervisor/transcript/recorded_delivery.h), for deliveries
 * and for what SwingSet notes between them. Its vat and the number of its first delivery (else
 * 0) are in a create-vat line before the entries, or in the file's name, as swing-store gives
 * it to transcripts that it exports: transcript.VATID.FIRST.END; or as Agoric's tools name what
 * they extract: transcript-VATID.sst. Only one delivery is kept in memory.
 *
 * The files are read one after the other, as one. "-" is stdin. NULL with ERROR_INPUT or
 * ERROR_SYSTEM. The paths are borrowed.
 */
struct replay_source *line_source_open(char *const *paths, size_t count, struct error *error);

#endif
