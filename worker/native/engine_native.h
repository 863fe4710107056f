/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_ENGINE_NATIVE_H
#define GASPIPE_WORKER_NATIVE_ENGINE_NATIVE_H

#include "worker/engine.h"
#include "worker/native/meter.h"

/*
 * Native contracts (gascontract.h), behind the worker's loop: the engine of NEAR's accounts
 * (worker/near/engine_near.h) around a bundle {"moduleFormat":"gaspipeNative","source":BASE64}.
 * `meter` is what contracts that gaspipe-cc compiled count with; NULL: they are refused.
 */
struct engine_ops engine_native(const struct native_meter *meter);

#endif
