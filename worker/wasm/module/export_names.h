/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WASM_MODULE_EXPORT_NAMES_H
#define GASPIPE_WORKER_WASM_MODULE_EXPORT_NAMES_H

#include <stdint.h>

#include "worker/wasm/module/module.h"

/*
 * Sorts exports by their names: in place, and with the same comparisons on every machine. The C
 * library's qsort() chooses its way by the machine's memory, which a confined worker may not ask
 * for.
 */
void wasm_exports_sort(struct wasm_export *exports, uint32_t count);

/* Below, at or above 0, as memcmp(). */
int wasm_export_compare(const struct wasm_export *left, const struct wasm_export *right);

#endif
