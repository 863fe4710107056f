/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_STORED_SOURCE_H
#define GASPIPE_SUPERVISOR_STORED_SOURCE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "kernel/kernel.h"
#include "store/store.h"
#include "supervisor/replay/stored_transcript.h"

/*
 * A vat's transcript in a store, found by the vat's ID or name. The store is only
 * looked at, as it was last committed.
 */
struct stored_source {
    struct store *store;
    struct kernel_vat vat;
    struct stored_transcript *transcript;
    struct buf name; /* for messages: "DIR: vat"; terminated */
};

/*
 * 0, or -1 with ERROR_INPUT (no such store or vat, nothing recorded) or
 * ERROR_SYSTEM; stored_source_close() in any case.
 */
int stored_source_open(struct stored_source *source, const char *folder, const char *vat,
                       bool from_start, struct error *error);

/* All zeros may be closed. */
void stored_source_close(struct stored_source *source);

/* Writes a vat's transcript, all of it, as lines to the file `path`, "-": stdout. */
int stored_source_export(const char *folder, const char *vat, const char *path,
                         struct error *error);

#endif
