/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_ENGINE_XS_H
#define GASPIPE_WORKER_XS_ENGINE_XS_H

#include "worker/engine.h"

/*
 * XS, as npm @agoric/xsnap 0.15.0 carries and configures it. Its start heap and
 * its computrons are those of that package's xsnap-worker: what is defined in
 * the start compartment, and in which order, must stay as it is there, because
 * both show in the heap.
 */
extern const struct engine_ops engine_xs;

#endif
