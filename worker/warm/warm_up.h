/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_WARM_WARM_UP_H
#define GASPIPE_WORKER_WARM_WARM_UP_H

#include "worker/engine.h"

/*
 * Has the engine do something of all that vats do: evaluate a bundle, start a vat, take deliveries.
 * Under QEMU that takes a fifth of a second, nearly all of which goes into translating the engine's
 * code; so a worker whose code is translated starts its vat many times as fast. What the vat asks
 * of the supervisor meanwhile is to be answered by a warm_store. The engine is of no use
 * afterwards (worker/warm/rewind.h).
 */
void warm_up_run(const struct engine_ops *ops, struct engine *engine);

#endif
