/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_DEVICES_DEVICE_H
#define GASPIPE_KERNEL_DEVICES_DEVICE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "kernel/kernel.h"

/*
 * Devices: called by vats with callNow, answered at once. Each has a c-list,
 * dN.c.*, that holds what it was ever given, and records of its own. Its nodes
 * are d+0, the root, and those that it makes.
 */

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

/* -1 only with ERROR_SYSTEM. */
typedef int (*device_method)(struct kernel *kernel, struct device_call *call, struct error *error);

int device_accounts(struct kernel *kernel, struct device_call *call, struct error *error);
int device_echo(struct kernel *kernel, struct device_call *call, struct error *error);
int device_clock(struct kernel *kernel, struct device_call *call, struct error *error);
int device_vat_admin(struct kernel *kernel, struct device_call *call, struct error *error);

/* The root node of the device of that name, one of device_is_known(); creates the device. */
int device_root(struct kernel *kernel, const char *name, int64_t *device,
                char kdid[KERNEL_REF_SIZE], struct error *error);

/* The number of a device; not *found: it has not been created. */
int device_named(struct kernel *kernel, const char *name, int64_t *device, bool *found,
                 struct error *error);

/* Both directions of an entry of the device's c-list. */
int device_set_entry(struct kernel *kernel, int64_t device, const char *kref, const char *reference,
                     struct error *error);

/* The kref of a device's node. */
int device_node(struct kernel *kernel, int64_t device, const char *node, char kdid[KERNEL_REF_SIZE],
                struct error *error);

/* dN.deviceState, JSON, the caller's; NULL: there is none yet. */
int device_get_state(struct kernel *kernel, int64_t device, json_t **state, struct error *error);
int device_set_state(struct kernel *kernel, int64_t device, const json_t *state,
                     struct error *error);

/* Sends without waiting for a result. Takes the arguments, a smallcaps tree without slots, over. */
int device_send(struct kernel *kernel, const char *target, const char *method, json_t *arguments,
                struct error *error);

/* Answers with a text. */
int device_answer_text(struct device_call *call, const char *text, struct error *error);

/* Says why it cannot be done; 0, or -1 when memory ran out. */
int device_refuse(struct device_call *call, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
