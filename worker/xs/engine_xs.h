/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_ENGINE_XS_H
#define GASPIPE_WORKER_XS_ENGINE_XS_H

#include "worker/engine.h"

/*
 * XS as npm @agoric/xsnap 0.15.0 has and configures it. Its initial heap and computrons
 * equal those of that package's xsnap-worker. They depend on what the start compartment
 * defines and in which order, so that must not change.
 */
extern const struct engine_ops engine_xs;

#endif
