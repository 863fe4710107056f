/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUNTIME_HEAP_FEED_H
#define GASPIPE_SUPERVISOR_RUNTIME_HEAP_FEED_H

#include "base/error.h"

/*
 * Has a thread copy a snapshot, from the beginning of the file to its end, into the pipe that a
 * worker reads it from, and then close both. It ends early when nobody has the pipe's other end
 * any more; the worker's own end tells why. Takes both descriptors, also when it fails: -1 with
 * ERROR_SYSTEM.
 */
int heap_feed_start(int file, int pipe, struct error *error);

#endif
