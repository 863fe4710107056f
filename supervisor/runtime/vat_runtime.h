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

/* A fresh worker evaluates a runtime before its vat's bundle: the plain one, or SwingSet's lockdown
 * and supervisor bundles (npm @agoric/xsnap-lockdown 0.14.1 and @agoric/swingset-xsnap-supervisor
 * 0.11.0), which the build installs next to the program. */
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

/* Chooses the runtime by the bundle's moduleFormat. SCAN_PADDING bytes after the bundle's JSON must
 * be readable. -1 with ERROR_INPUT for another format, or ERROR_SYSTEM if SwingSet's bundles are
 * missing. */
int vat_runtime_choose(struct vat_runtimes *runtimes, struct scan_span bundle,
                       struct vat_runtime *runtime, struct error *error);

/* Uses these bundles, JSON, as SwingSet's runtime instead of those next to the program; frees those
 * loaded before. Messages call them `name`. The texts stay, with SCAN_PADDING bytes reserved after
 * them. -1 with ERROR_INPUT for another bundle than {moduleFormat,source}, or ERROR_SYSTEM. */
int vat_runtimes_set(struct vat_runtimes *runtimes, const char *name, struct buf *lockdown,
                     struct buf *supervisor, struct error *error);

/* The launcher's program for this runtime's workers. */
enum launcher_program vat_runtime_program(const struct vat_runtime *runtime);

void vat_runtimes_free(struct vat_runtimes *runtimes);

#endif
