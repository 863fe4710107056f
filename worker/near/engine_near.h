/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_ENGINE_NEAR_H
#define GASPIPE_WORKER_NEAR_ENGINE_NEAR_H

#include "worker/engine.h"
#include "worker/near/contract.h"

/*
 * The engine for contracts with NEAR accounts. It handles the vat messages of the plain
 * runtime: setBundle with {"moduleFormat":..,"source":BASE64}, then messages whose method is
 * the contract's (docs/wasm.md describes the arguments). A contract keeps nothing in memory
 * between calls, so a snapshot is its code.
 */

/* The operations shared by all kinds of contract. Each kind sets `version`, `open` and
 * `open_snapshot` with the two functions below. */
extern const struct engine_ops engine_near;

struct engine *engine_near_open(const struct near_contract_kind *kind,
                                const struct engine_options *options, struct error *error);
struct engine *engine_near_open_snapshot(const struct near_contract_kind *kind,
                                         const struct engine_options *options, const char *place,
                                         struct error *error);

#endif
