/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_CONTRACT_KIND_H
#define GASPIPE_WORKER_NEAR_CONTRACT_KIND_H

#include "worker/near/call/call.h"

/* What contracts are made of, as the engine of NEAR's accounts sees them. */

struct near_contract; /* each kind has its own */

struct near_contract_options {
    const char *protocol; /* whose parameters hold (near_parameters_read()) */
    uint64_t heap_limit;  /* bytes; 0: the kind's own */
    uint64_t cost_limit;  /* units of block cost for each call; 0: none */
};

struct near_contract_kind {
    const char *version;  /* for -v */
    const char *refusal;  /* of commands that this kind of worker does not have */
    const char *snapshot; /* the first line of its snapshots */
    bool has_gas;         /* it charges gas by the protocol's parameters */
    bool loads_code;      /* that the processor executes: one contract for each worker */

    /*
     * Loads one that is copied. NULL with *error: ERROR_INPUT when it is none, ERROR_SYSTEM, or
     * ERROR_USAGE for limits that cannot be kept.
     */
    struct near_contract *(*open)(const uint8_t *bytes, size_t length,
                                  const struct near_contract_options *options, struct error *error);
    /* NULL is none. */
    void (*close)(struct near_contract *contract);

    /* NULL, or why every call of it ends at once. */
    const char *(*why_unusable)(const struct near_contract *contract);

    /* Bytes of its code, and of memory that the last call had. */
    uint64_t (*size)(const struct near_contract *contract);
    uint64_t (*memory)(const struct near_contract *contract);

    struct near_outcome (*call)(struct near_contract *contract, const char *method,
                                const struct near_context *context,
                                const struct near_storage *storage);

    /* Called once when the vat starts; NULL: nothing is. */
    struct near_outcome (*init)(struct near_contract *contract, const struct near_context *context,
                                const struct near_storage *storage);
};

#endif
