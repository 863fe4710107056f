/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_CONTRACT_H
#define GASPIPE_WORKER_NEAR_CONTRACT_H

#include "worker/near/call/call.h"

/* The interface between the engine of NEAR's accounts and a kind of contract. */

struct compiled_code;
struct near_contract; /* each kind has its own */

struct near_contract_options {
    const char *protocol;           /* the protocol version (near_parameters_read()) */
    uint64_t heap_limit;            /* bytes; 0: the kind's own */
    uint64_t cost_limit;            /* units of block cost for each call; 0: none */
    struct compiled_code *compiled; /* machine code that may be the module's, borrowed; or NULL */
};

struct near_contract_kind {
    const char *version;  /* for -v */
    const char *refusal;  /* the error for commands that this kind of worker lacks */
    const char *snapshot; /* the first line of its snapshots */
    bool has_gas;         /* it charges gas by the protocol's parameters */
    bool loads_code;      /* it loads machine code, so a worker runs one contract only */

    /* Loads a copy of the bytes. NULL with *error: ERROR_INPUT if they are not a contract,
     * ERROR_SYSTEM, or ERROR_USAGE for limits that cannot be enforced. */
    struct near_contract *(*open)(const uint8_t *bytes, size_t length,
                                  const struct near_contract_options *options, struct error *error);
    /* NULL does nothing. */
    void (*close)(struct near_contract *contract);

    /* NULL, or why every call of it ends at once. */
    const char *(*why_unusable)(const struct near_contract *contract);

    /* The bytes of its code, and of the memory of the last call. */
    uint64_t (*size)(const struct near_contract *contract);
    uint64_t (*memory)(const struct near_contract *contract);

    struct near_outcome (*call)(struct near_contract *contract, const char *method,
                                const struct near_context *context,
                                const struct near_storage *storage);

    /* Called once when the vat starts; NULL: no call. */
    struct near_outcome (*init)(struct near_contract *contract, const struct near_context *context,
                                const struct near_storage *storage);
};

/* A contract, loaded once and called many times. Each call begins with new memory, globals and
 * tables. Its gas equals nearcore's exactly, except for costs of the chain's trie. */
extern const struct near_contract_kind near_contract_wasm;

/*
 * Loads a copy of a module. If nearcore would not prepare the module, it is loaded, but its
 * calls end with that error and burn nothing. NULL with *error if out of memory or for an
 * unknown version (near_parameters_read()).
 */
struct near_contract *near_contract_open(const uint8_t *bytes, size_t length, const char *version,
                                         struct error *error);

/* The same with machine code, borrowed until the contract is closed. It is used if it was made
 * from this module (near_contract_is_compiled()); the interpreter repeats what it abandons. */
struct near_contract *near_contract_open_compiled(const uint8_t *bytes, size_t length,
                                                  const char *version,
                                                  struct compiled_code *compiled,
                                                  struct error *error);
bool near_contract_is_compiled(const struct near_contract *contract);

/* Returns how many calls machine code has answered, and how many it abandoned. */
struct near_tiers {
    uint64_t compiled, abandoned;
};
struct near_tiers near_contract_tiers(const struct near_contract *contract);
void near_contract_close(struct near_contract *contract);

struct near_outcome near_contract_call(struct near_contract *contract, const char *method,
                                       const struct near_context *context,
                                       const struct near_storage *storage);

#endif
