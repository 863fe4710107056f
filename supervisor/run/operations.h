/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_OPERATIONS_H
#define GASPIPE_SUPERVISOR_RUN_OPERATIONS_H

#include <stdint.h>

#include "base/error.h"
#include "base/option/option.h"
#include "kernel/kernel.h"
#include "store/store.h"

/* What the command line decides about vats. Each list has vats by name, or as "v7". */
struct operations {
    struct option_list set_limits; /* VAT=NAME:N[,NAME:N...] */
    struct option_list skips, releases, terminations;
    bool from_start; /* of the releases */
};

/* Whether there are none. */
bool operations_are_none(const struct operations *operations);

void operations_free(struct operations *operations);

/*
 * Queues them, in the order of the struct, as the kernel's next cranks. -1 with ERROR_INPUT where
 * one cannot be. Within a transaction.
 */
int operations_queue(const struct operations *operations, struct store *store,
                     struct kernel *kernel, struct error *error);

/* Logs each vat in quarantine, with what can be done about it, and counts them. */
int operations_tell_quarantined(struct kernel *kernel, int64_t *count, struct error *error);

#endif
