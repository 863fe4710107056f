/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_GRAPH_CLIST_H
#define GASPIPE_KERNEL_GRAPH_CLIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "kernel/records/reference.h"

/*
 * A vat's table between its own references and the kernel's: vN.c.o+0 has the
 * kref, vN.c.ko20 has "R o+0", or "_ o+0" when the vat (an import) or the kernel
 * (an export) can only tell it from others and no longer reach it.
 */

struct clist_entry {
    bool reachable;
    struct vref vref;
};

int clist_find(struct kernel *kernel, int64_t vat, const char *kref, struct clist_entry *entry,
               bool *found, struct error *error);
int clist_has(struct kernel *kernel, int64_t vat, const char *kref, bool *has, struct error *error);

/* Whether the vat has it, and another made it. */
int clist_imports(struct kernel *kernel, int64_t vat, const char *kref, bool *imports,
                  struct error *error);

/* ---- from the kernel to the vat ---- */

/* What the vat calls it, as one that can be reached; a new import where it is not in the table. */
int clist_to_vat(struct kernel *kernel, int64_t vat, const char *kref, char vref[VREF_SIZE],
                 struct error *error);

/* ---- from the vat to the kernel: ERROR_INPUT where the vat may not say this ---- */

/*
 * What the kernel calls it. What the vat made and has not shown before is new: an
 * object, or a promise that it decides. Else it must be in the table, and an
 * import must be one that the vat can still reach.
 */
int clist_to_kernel(struct kernel *kernel, int64_t vat, const struct vref *vref,
                    char kref[KERNEL_REF_SIZE], struct error *error);

/* The same where it must be in the table already, and nothing is said about reaching it. */
int clist_known(struct kernel *kernel, int64_t vat, const struct vref *vref,
                char kref[KERNEL_REF_SIZE], struct error *error);

/* The vat's root object, which is held reachable for good from then on. */
int clist_export_root(struct kernel *kernel, int64_t vat, char kref[KERNEL_REF_SIZE],
                      struct error *error);

/* Whether it is in the table. */
int clist_knows(struct kernel *kernel, int64_t vat, const struct vref *vref, bool *knows,
                struct error *error);

/* ---- changes ---- */

/* The vat can reach it no longer; an object that nobody else reaches becomes garbage. */
int clist_clear_reachable(struct kernel *kernel, int64_t vat, const char *kref,
                          struct error *error);

/* Takes an entry out, with what it counted. */
int clist_delete(struct kernel *kernel, int64_t vat, const char *kref, struct error *error);

/* The same without counting and without telling, for an export that becomes an orphan. */
int clist_forget(struct kernel *kernel, int64_t vat, const char *kref, struct error *error);

#endif
