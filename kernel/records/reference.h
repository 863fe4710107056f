/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_REFERENCE_H
#define GASPIPE_KERNEL_RECORDS_REFERENCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * References as text. The kernel's ("krefs"): ko20, kd30, kp40. A vat's or
 * device's ("vrefs"): o+0, o-50, p+5, d-70, and o+v11/3, o+d11/3, o+d11/3:1 for
 * virtual and durable objects (npm @agoric/swingset-vat, src/lib/parseVatSlots.js).
 * There is one spelling for each: no leading zeros, no sign, numbers up to
 * REFERENCE_LIMIT; so that equal texts are equal references.
 */

enum reference_kind { REFERENCE_OBJECT, REFERENCE_DEVICE, REFERENCE_PROMISE };

enum { VREF_SIZE = 64 }; /* the longest is "o+d", "/", ":" and three numbers of 16 digits */

struct vref {
    enum reference_kind kind;
    bool by_vat; /* the vat made it: '+' */
    char text[VREF_SIZE];
};

/* Whether these bytes are a reference; if so, it is filled in. NULL is no text of any. */
bool reference_read_vref(struct vref *vref, const char *bytes, size_t length);
bool reference_read_kref(enum reference_kind *kind, const char *text);

/* Of a kref that was read before or made here. */
enum reference_kind reference_kref_kind(const char *kref);

void reference_make_kref(char kref[KERNEL_REF_SIZE], enum reference_kind kind, int64_t id);

/* As given to a vat by the kernel: o-50. */
void reference_make_import(char vref[VREF_SIZE], enum reference_kind kind, int64_t id);

/* 'o', 'd', 'p'. */
char reference_letter(enum reference_kind kind);

/* "v12", "d7": the number behind that letter. */
bool reference_read_number(const char *text, char letter, int64_t *number);

/*
 * Krefs, each once, in the order in which they came. One that is all zeros is
 * empty. May grow while it is gone over by index.
 */
struct reference_set {
    char (*items)[KERNEL_REF_SIZE];
    size_t count, capacity;
    size_t *slots; /* an item's index + 1, at its hash or behind; 0: free */
    size_t slot_count;
};

int reference_set_add(struct reference_set *set, const char *kref, struct error *error);
bool reference_set_has(const struct reference_set *set, const char *kref);
void reference_set_clear(struct reference_set *set);
void reference_set_free(struct reference_set *set);

/*
 * How many hold a reference. Promises have one count. Objects have two: how many
 * can reach it, and how many can tell it from others (c-lists of vats that
 * import it, messages and values in the kernel); a c-list entry of the vat that
 * exports it counts for a promise and not for an object. Devices are for good.
 * What falls to nought is put into kernel->maybe_free, for the end of the crank.
 */

enum refcount_holder {
    REFCOUNT_KERNEL, /* a queue, a promise's value, a pin: reaches it */
    REFCOUNT_IMPORT, /* a c-list entry of one who imports it: only tells it from others */
    REFCOUNT_EXPORT, /* a c-list entry of one who exports it: likewise */
};

struct object_counts {
    int64_t reachable, recognizable;
};

int refcount_increment(struct kernel *kernel, const char *kref, enum refcount_holder holder,
                       struct error *error);
int refcount_decrement(struct kernel *kernel, const char *kref, enum refcount_holder holder,
                       struct error *error);

/* Each kref in a JSON array of texts, held by the kernel. */
int refcount_increment_all(struct kernel *kernel, const json_t *krefs, struct error *error);
int refcount_decrement_all(struct kernel *kernel, const json_t *krefs, struct error *error);

/* *exists is false, and the counts are nought, for an object that was deleted. */
int refcount_of_object(struct kernel *kernel, const char *kref, struct object_counts *counts,
                       bool *exists, struct error *error);
int refcount_set_object(struct kernel *kernel, const char *kref, const struct object_counts *counts,
                        struct error *error);

#endif
