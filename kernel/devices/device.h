/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_DEVICES_DEVICE_H
#define GASPIPE_KERNEL_DEVICES_DEVICE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "kernel/kernel.h"

/* Devices answer vats' callNow at once. Each has a c-list, dN.c.*, with everything that it was
 * ever given, and records of its own. Its nodes are d+0, the root, and those that it makes. */

struct device_call {
    int64_t device;
    const char *node; /* "d+0" */
    const char *method;
    const json_t *arguments; /* array of smallcaps trees */
    const json_t *slots;     /* their krefs */
    json_t *result;          /* a smallcaps tree, set by the device; NULL: undefined */
    json_t *result_slots;    /* its krefs, appended by the device */
    struct buf problem;      /* why the device cannot do it; empty: it did */
};

/* Returns -1 only with ERROR_SYSTEM. */
typedef int (*device_method)(struct kernel *kernel, struct device_call *call, struct error *error);

int device_echo(struct kernel *kernel, struct device_call *call, struct error *error);
int device_clock(struct kernel *kernel, struct device_call *call, struct error *error);
int device_vat_admin(struct kernel *kernel, struct device_call *call, struct error *error);

/* The root node of the device of that name, one of device_is_known(); creates the device. */
int device_root(struct kernel *kernel, const char *name, int64_t *device,
                char kdid[KERNEL_REF_SIZE], struct error *error);

/* The number of a device; not *found: it has not been created. */
int device_named(struct kernel *kernel, const char *name, int64_t *device, bool *found,
                 struct error *error);

/* Records an entry of the device's c-list in both directions. */
int device_set_entry(struct kernel *kernel, int64_t device, const char *kref, const char *reference,
                     struct error *error);

/* The kref of a device's node. */
int device_node(struct kernel *kernel, int64_t device, const char *node, char kdid[KERNEL_REF_SIZE],
                struct error *error);

/* Returns dN.deviceState, JSON, the caller's; NULL if it was never set. */
int device_get_state(struct kernel *kernel, int64_t device, json_t **state, struct error *error);
int device_set_state(struct kernel *kernel, int64_t device, const json_t *state,
                     struct error *error);

/* Sends without a result. Takes over the arguments, a smallcaps tree without slots. */
int device_send(struct kernel *kernel, const char *target, const char *method, json_t *arguments,
                struct error *error);

/* Stores a bundle that has no name, under the hash of its JSON. */
enum { DEVICE_BUNDLE_ID_SIZE = 160 };
int device_keep_bundle(struct kernel *kernel, const json_t *bundle,
                       char bundle_id[DEVICE_BUNDLE_ID_SIZE], struct error *error);

/* Answers with a text. */
int device_answer_text(struct device_call *call, const char *text, struct error *error);

/* Sets the problem. Returns 0, or -1 if out of memory. */
int device_refuse(struct device_call *call, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
