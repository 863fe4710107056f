/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_ENGINE_NATIVE_H
#define GASPIPE_WORKER_NATIVE_ENGINE_NATIVE_H

#include "worker/engine.h"
#include "worker/native/meter.h"

/*
 * The engine of NEAR's accounts (worker/near/engine_near.h) for native contracts
 * (gascontract.h). Its bundles are {"moduleFormat":"gaspipeNative","source":BASE64}. `meter`
 * counts contracts that gaspipe-cc compiled; NULL: they are refused.
 */
struct engine_ops engine_native(const struct native_meter *meter);

#endif
