/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_STATUS_STATUS_FACTS_H
#define GASPIPE_SUPERVISOR_STATUS_STATUS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "store/store.h"
#include "supervisor/run/input_place.h"

/* What a store holds, as of the last commit. */

struct status_vat {
    struct kernel_vat vat;
    bool quarantined;
    struct buf quarantine;  /* why; a string */
    int64_t transcript_end; /* how many deliveries its transcript has */
    struct store_sum vatstore;
    bool has_snapshot;
    int64_t snapshot_position; /* how many deliveries its last snapshot has */
    struct store_snapshot snapshot;
};

struct status_facts {
    struct status_vat *vats; /* those that live, by their numbers */
    size_t vat_count, vat_capacity;
    struct kernel_queues queues;
    int64_t cranks;
    char activityhash[KERNEL_HASH_SIZE];
    struct input_place input;
    struct store_sums sums;
};

/*
 * Opens the store of the folder to look at it, also while a run has it, and reads
 * all. -1 with ERROR_INPUT or ERROR_SYSTEM; status_facts_free() in any case.
 */
int status_facts_read(struct status_facts *facts, const char *folder, struct error *error);
void status_facts_free(struct status_facts *facts);

#endif
