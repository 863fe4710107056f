/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_CONTRACT_H
#define GASPIPE_WORKER_NEAR_CONTRACT_H

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

/*
 * A contract, loaded once and called many times. Each call begins with fresh memory, globals
 * and tables, and its gas is nearcore's to the unit, but for what depends on the chain's trie.
 */
extern const struct near_contract_kind near_contract_wasm;

/*
 * Loads a module that is copied. A module that nearcore refuses to prepare is loaded all the
 * same: calls of it end with that error and burn nothing. NULL with *error when there is no
 * memory, or no such version (near_parameters_read()).
 */
struct near_contract *near_contract_open(const uint8_t *bytes, size_t length, const char *version,
                                         struct error *error);
void near_contract_close(struct near_contract *contract);

/* NULL, or why every call of it ends at once. */
const char *near_contract_refusal(const struct near_contract *contract);

struct near_outcome near_contract_call(struct near_contract *contract, const char *method,
                                       const struct near_context *context,
                                       const struct near_storage *storage);

/* Bytes of its module. */
uint64_t near_contract_size(const struct near_contract *contract);

/* Bytes of memory that the last call had. */
uint64_t near_contract_memory(const struct near_contract *contract);

#endif
