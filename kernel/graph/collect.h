/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_GRAPH_COLLECT_H
#define GASPIPE_KERNEL_GRAPH_COLLECT_H

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * At the end of a crank: looks at what lost a reference in it. Promises that
 * nobody holds are deleted; objects that nobody reaches or can tell are put on
 * the list of garbage that their vats must be told of.
 */
int collect_unreferenced(struct kernel *kernel, struct error *error);

#endif
