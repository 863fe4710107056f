/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_CRANK_H
#define GASPIPE_KERNEL_CRANK_H

#include <stdbool.h>

#include "base/error.h"
#include "kernel/kernel.h"

/* The frame around the work of a crank. */

/*
 * Undoes what the crank did: what its delivery changed, or with `all` also that its
 * work was taken off the queue.
 */
int crank_undo(struct kernel *kernel, bool all, struct error *error);

/* Collects what is unreferenced, counts the crank, and fills `end`. The crank is over. */
int crank_finish(struct kernel *kernel, struct kernel_crank_end *end, struct error *error);

#endif
