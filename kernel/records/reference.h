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
 * References are texts. The kernel's ("krefs"): ko20, kd30, kp40. A vat's or device's
 * ("vrefs"): o+0, o-50, p+5, d-70, and for virtual and durable objects o+v11/3, o+d11/3,
 * o+d11/3:1 (npm @agoric/swingset-vat, src/lib/parseVatSlots.js). Each has one spelling,
 * without leading zeros or signs and up to REFERENCE_LIMIT, so that equal references are
 * equal texts.
 */

enum reference_kind { REFERENCE_OBJECT, REFERENCE_DEVICE, REFERENCE_PROMISE };

enum { VREF_SIZE = 64 }; /* the longest is "o+d", "/", ":" and three numbers of 16 digits */

struct vref {
    enum reference_kind kind;
    bool by_vat; /* the vat made it: '+' */
    char text[VREF_SIZE];
};

/* Return true if the bytes are a reference, which is filled in. False for NULL. */
bool reference_read_vref(struct vref *vref, const char *bytes, size_t length);
bool reference_read_kref(enum reference_kind *kind, const char *text);

/* Returns the kind of a valid kref. */
enum reference_kind reference_kref_kind(const char *kref);

void reference_make_kref(char kref[KERNEL_REF_SIZE], enum reference_kind kind, int64_t id);

/* Makes a vat's name for an import: o-50. */
void reference_make_import(char vref[VREF_SIZE], enum reference_kind kind, int64_t id);

/* 'o', 'd', 'p'. */
char reference_letter(enum reference_kind kind);

/* Reads the number in "v12" or "d7"; false if the letter differs. */
bool reference_read_number(const char *text, char letter, int64_t *number);

/* A set of krefs in order of insertion. All zeros is an empty set. It may grow during iteration
 * by index. */
struct reference_set {
    char (*items)[KERNEL_REF_SIZE];
    size_t count, capacity;
    size_t *slots; /* an item's index + 1, at its hash or the next free place; 0: free */
    size_t slot_count;
};

int reference_set_add(struct reference_set *set, const char *kref, struct error *error);
bool reference_set_has(const struct reference_set *set, const char *kref);
void reference_set_clear(struct reference_set *set);
void reference_set_free(struct reference_set *set);

/*
 * Reference counts. A promise has one count. An object has two: how many can reach it, and
 * how many can recognize it. Importing vats' c-lists and the kernel's messages and values
 * count for both kinds; the exporting vat's c-list counts for promises only. Devices are
 * permanent and not counted. A reference whose count becomes 0 is added to
 * kernel->maybe_free, for the end of the crank.
 */

enum refcount_holder {
    REFCOUNT_KERNEL, /* a queue, a promise's value, a pin: reaches it */
    REFCOUNT_IMPORT, /* an importing vat's c-list: only recognizes it */
    REFCOUNT_EXPORT, /* the exporting vat's c-list: likewise */
};

struct object_counts {
    int64_t reachable, recognizable;
};

int refcount_increment(struct kernel *kernel, const char *kref, enum refcount_holder holder,
                       struct error *error);
int refcount_decrement(struct kernel *kernel, const char *kref, enum refcount_holder holder,
                       struct error *error);

/* Changes the kernel's count for each kref in a JSON array of texts. */
int refcount_increment_all(struct kernel *kernel, const json_t *krefs, struct error *error);
int refcount_decrement_all(struct kernel *kernel, const json_t *krefs, struct error *error);

/* *exists is false, and the counts are 0, for a deleted object. */
int refcount_of_object(struct kernel *kernel, const char *kref, struct object_counts *counts,
                       bool *exists, struct error *error);
int refcount_set_object(struct kernel *kernel, const char *kref, const struct object_counts *counts,
                        struct error *error);

#endif
