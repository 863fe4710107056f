/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_ENGINE_ECHO_H
#define GASPIPE_WORKER_ENGINE_ECHO_H

#include "worker/engine.h"

/*
 * An engine that does nothing, to measure and to test what is around engines. A delivery's
 * result is the delivery; all else has an empty result. Of a delivery's first byte:
 *
 *   '?'  the rest is sent as a request, whose answer is the result
 *   '!'  it throws the rest
 *   'X'  it stops with WORKER_EXIT_COMPUTATION
 *
 * It has no snapshots and costs nothing: its usage is always 0.
 */
extern const struct engine_ops engine_echo;

#endif
