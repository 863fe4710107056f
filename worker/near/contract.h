/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_CONTRACT_H
#define GASPIPE_WORKER_NEAR_CONTRACT_H

#include "worker/near/contract_kind.h"

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
