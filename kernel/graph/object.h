/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_GRAPH_OBJECT_H
#define GASPIPE_KERNEL_GRAPH_OBJECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"

/* Objects of vats and nodes of devices: koN.owner, koN.refCount, kdN.owner. */

int object_add(struct kernel *kernel, int64_t owner, char koid[KERNEL_REF_SIZE],
               struct error *error);
int object_add_device_node(struct kernel *kernel, int64_t device, char kdid[KERNEL_REF_SIZE],
                           struct error *error);

/* Returns the vat that made it; 0 if it is an orphan or was deleted. */
int object_owner(struct kernel *kernel, const char *koid, int64_t *vat, struct error *error);

/* Like object_owner(), and 0 if the vat has ended. */
int object_living_owner(struct kernel *kernel, const char *koid, int64_t *vat, struct error *error);

/* The device of a node. */
int object_device_of(struct kernel *kernel, const char *kdid, int64_t *device, struct error *error);

/* Makes it an orphan; its owner's c-list stays as it is. */
int object_disown(struct kernel *kernel, const char *koid, struct error *error);
int object_delete(struct kernel *kernel, const char *koid, struct error *error);

/* Pins it: keeps it reachable permanently. Later calls change nothing. */
int object_pin(struct kernel *kernel, const char *koid, struct error *error);

#endif
