/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUNTIME_VAT_RUNTIME_H
#define GASPIPE_SUPERVISOR_RUNTIME_VAT_RUNTIME_H

#include <stdbool.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json/scan.h"
#include "supervisor/process/launcher.h"

/* The source of runtime/plain.js, which is carried inside the program. */
struct iovec plain_runtime(void);

/*
 * What is evaluated in a fresh worker before its vat's bundle is set: the plain
 * runtime, or SwingSet's lockdown and supervisor bundles (npm
 * @agoric/xsnap-lockdown 0.14.1 and @agoric/swingset-xsnap-supervisor 0.11.0),
 * which the build puts beside the program.
 */
enum vat_runtime_kind {
    VAT_RUNTIME_PLAIN,
    VAT_RUNTIME_LIVESLOTS,
    /* Contracts whose workers are others, and evaluate nothing: */
    VAT_RUNTIME_WASM,   /* in WebAssembly */
    VAT_RUNTIME_NATIVE, /* in native code */
    VAT_RUNTIME_KINDS
};
enum { VAT_RUNTIME_PROGRAMS_MAX = 2 };

struct vat_runtime {
    enum vat_runtime_kind kind;
    struct iovec programs[VAT_RUNTIME_PROGRAMS_MAX]; /* in order; borrowed from vat_runtimes */
    int program_count;
    const char *options;        /* the last element of setBundle; JSON */
    const char *console_answer; /* to a console call; its length shows in the heap */
};

/* Both; SwingSet's is read when first asked for. All zeros is the beginning. */
struct vat_runtimes {
    struct buf lockdown, supervisor; /* as evaluated */
};

/*
 * The runtime that takes this bundle, by its moduleFormat. SCAN_PADDING bytes
 * behind the bundle's JSON must be readable. -1 with ERROR_INPUT for a format
 * that neither takes, or ERROR_SYSTEM when SwingSet's bundles are missing.
 */
int vat_runtime_choose(struct vat_runtimes *runtimes, struct scan_span bundle,
                       struct vat_runtime *runtime, struct error *error);

/*
 * Takes SwingSet's runtime from these bundles, JSON, in the place of those that are beside the
 * program; what was loaded before is gone. `name` is how messages call them. Their texts stay as
 * they are; room for SCAN_PADDING is made behind them. -1 with ERROR_INPUT when one is no
 * {moduleFormat,source} bundle, or ERROR_SYSTEM.
 */
int vat_runtimes_set(struct vat_runtimes *runtimes, const char *name, struct buf *lockdown,
                     struct buf *supervisor, struct error *error);

/* What starts this runtime's workers as the launcher starts others; borrows from it. */
enum launcher_program vat_runtime_program(const struct vat_runtime *runtime);

void vat_runtimes_free(struct vat_runtimes *runtimes);

#endif
