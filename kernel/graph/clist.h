/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_GRAPH_CLIST_H
#define GASPIPE_KERNEL_GRAPH_CLIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "kernel/records/reference.h"

/*
 * A vat's c-list maps its own references to the kernel's and back. vN.c.o+0 has the kref;
 * vN.c.ko20 has "R o+0" if it is reachable, else "_ o+0". For an import the flag says
 * whether the vat can reach the object; for an export, whether the kernel can. An
 * unreachable entry can still be compared with others.
 */

struct clist_entry {
    bool reachable;
    struct vref vref;
};

int clist_find(struct kernel *kernel, int64_t vat, const char *kref, struct clist_entry *entry,
               bool *found, struct error *error);
int clist_has(struct kernel *kernel, int64_t vat, const char *kref, bool *has, struct error *error);

/* *imports: the vat has the object, and another vat made it. */
int clist_imports(struct kernel *kernel, int64_t vat, const char *kref, bool *imports,
                  struct error *error);

/* ---- from the kernel to the vat ---- */

/* Returns the vat's reference, marked reachable; adds an import if the c-list lacks it. */
int clist_to_vat(struct kernel *kernel, int64_t vat, const char *kref, char vref[VREF_SIZE],
                 struct error *error);

/* ---- from the vat to the kernel: ERROR_INPUT if the vat breaks a rule ---- */

/*
 * Returns the kernel's reference. An export that the vat has not used before becomes a new
 * object, or a promise that the vat decides. Anything else must be in the c-list, and an
 * import must be reachable.
 */
int clist_to_kernel(struct kernel *kernel, int64_t vat, const struct vref *vref,
                    char kref[KERNEL_REF_SIZE], struct error *error);

/* Like clist_to_kernel(), for references that must be in the c-list; reachability is not
 * checked. */
int clist_known(struct kernel *kernel, int64_t vat, const struct vref *vref,
                char kref[KERNEL_REF_SIZE], struct error *error);

/* Returns the vat's root object, and pins it permanently. */
int clist_export_root(struct kernel *kernel, int64_t vat, char kref[KERNEL_REF_SIZE],
                      struct error *error);

/* *knows: the reference is in the c-list. */
int clist_knows(struct kernel *kernel, int64_t vat, const struct vref *vref, bool *knows,
                struct error *error);

/* ---- changes ---- */

/* Marks an entry unreachable; an object that no vat reaches becomes garbage. */
int clist_clear_reachable(struct kernel *kernel, int64_t vat, const char *kref,
                          struct error *error);

/* Deletes an entry, and decrements the counts that it held. */
int clist_delete(struct kernel *kernel, int64_t vat, const char *kref, struct error *error);

/* Deletes an export's entry without counting and without an event, for orphans. */
int clist_forget(struct kernel *kernel, int64_t vat, const char *kref, struct error *error);

#endif
