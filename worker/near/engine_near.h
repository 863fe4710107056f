/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_ENGINE_NEAR_H
#define GASPIPE_WORKER_NEAR_ENGINE_NEAR_H

#include "worker/engine.h"
#include "worker/near/contract.h"

/*
 * Contracts with NEAR's accounts, behind the worker's loop. It speaks the vat messages of the plain
 * runtime: setBundle with a bundle {"moduleFormat":..,"source":BASE64}, then messages whose method
 * is the contract's. docs/wasm.md says what their arguments mean.
 *
 * A contract keeps nothing in memory between calls, so a snapshot is its code.
 */

/* Of such an engine, whatever its contracts are; `version`, `open` and `open_snapshot` are those of
 * the kind, by the two functions below. */
extern const struct engine_ops engine_near;

struct engine *engine_near_open(const struct near_contract_kind *kind,
                                const struct engine_options *options, struct error *error);
struct engine *engine_near_open_snapshot(const struct near_contract_kind *kind,
                                         const struct engine_options *options, const char *place,
                                         struct error *error);

#endif
