/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_REFERENCE_H
#define GASPIPE_KERNEL_RECORDS_REFERENCE_H

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

#endif
