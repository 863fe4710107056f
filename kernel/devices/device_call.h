/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_DEVICES_DEVICE_CALL_H
#define GASPIPE_KERNEL_DEVICES_DEVICE_CALL_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "kernel/kernel.h"

/* The built-in devices, and calls to them. */

bool device_is_known(const char *name);

/*
 * Calls a node. *answer is ["ok",capdata] or ["error",message] with krefs, owned by the caller.
 * `method` is the kernel's text, `arguments` capdata.
 */
int device_invoke(struct kernel *kernel, const char *kdid, const char *method,
                  const json_t *arguments, json_t **answer, struct error *error);

#endif
