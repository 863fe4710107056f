/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_HOST_HOST_H
#define GASPIPE_WORKER_NEAR_HOST_HOST_H

#include "worker/near/call/call.h"

/*
 * NEAR's host functions, by the names and types of nearcore's
 * runtime/near-vm-runner/src/imports.rs. Those that gaspipe does not have are refused when they are
 * called, with an error that names them.
 */

/* What a contract imports by that name; a wasm_resolver. `context`: the struct near_call. */
int near_host_resolve(void *context, const struct wasm_module *module,
                      const struct wasm_import *import, struct wasm_extern *given,
                      struct error *error);

#endif
