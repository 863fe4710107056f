/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_DEVICES_DEVICE_VAT_ADMIN_H
#define GASPIPE_KERNEL_DEVICES_DEVICE_VAT_ADMIN_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "kernel/devices/device.h"
#include "kernel/kernel.h"

/* Bundles in the store, and the part of the vatAdmin device that gives out nodes for them. */

enum { BUNDLE_DEVICE_ID_SIZE = 160 };

int bundle_device_has(struct kernel *kernel, const char *bundle_id, bool *found,
                      struct error *error);

/* Puts a bundle that was given as a value into the store; not *kept: it is none. */
int bundle_device_keep(struct kernel *kernel, const json_t *value,
                       char bundle_id[BUNDLE_DEVICE_ID_SIZE], bool *kept, struct error *error);

/* getBundleCap(id), getNamedBundleCap(name), getBundleIDByName(name) */
int bundle_device_cap(struct kernel *kernel, struct device_call *call, struct error *error);
int bundle_device_named_cap(struct kernel *kernel, struct device_call *call, struct error *error);
int bundle_device_id_by_name(struct kernel *kernel, struct device_call *call, struct error *error);

/* getBundleID(), getBundle() of such a node */
int bundle_device_node(struct kernel *kernel, struct device_call *call, struct error *error);

#endif
