/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_SOURCE_STORE_SOURCE_H
#define GASPIPE_SUPERVISOR_REPLAY_SOURCE_STORE_SOURCE_H

#include <stdbool.h>

#include "supervisor/replay/source/source.h"

/*
 * The transcript of a vat's present incarnation in a store of gaspipe run, which is only looked
 * at, as it was last committed. The vat is given by its ID or its name. It begins with the last
 * snapshot, if there is one, or, `from_start`, with the incarnation. Lines are those that
 * store_source_export() writes.
 *
 * NULL with ERROR_INPUT (no such store or vat, nothing recorded) or ERROR_SYSTEM.
 */
struct replay_source *store_source_open(const char *folder, const char *vat, bool from_start,
                                        struct error *error);

/*
 * Writes the vat's transcript, all of it, as lines that line_source_open() takes: a create-vat
 * line with the bundle, then an entry for each delivery. `path` is a file, or "-": stdout.
 */
int store_source_export(const char *folder, const char *vat, const char *path, struct error *error);

#endif
