/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_HOST_HOST_H
#define GASPIPE_WORKER_NEAR_HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/near/call/call.h"

/*
 * NEAR's host functions, with the names and types of nearcore's runtime/near-vm-
 * runner/src/imports.rs. Calling one that gaspipe lacks ends the call with an error that
 * names it.
 */

/* Resolves a contract's import; a wasm_resolver. `context`: the struct near_call. */
int near_host_resolve(void *context, const struct wasm_module *module,
                      const struct wasm_import *import, struct wasm_extern *given,
                      struct error *error);

/* A host function. a[0], a[1], .. are its arguments; a[0] gets its result, if any. False, with
 * the call's error, ends the call. */
typedef bool near_function(struct near_call *call, uint64_t *a);

/* Name, how many parameters of 64 bits, how many results. */
#define NEAR_CONTEXT_FUNCTIONS(X)                                                                  \
    X(read_register, 2, 0)                                                                         \
    X(register_len, 1, 1)                                                                          \
    X(write_register, 3, 0)                                                                        \
    X(current_account_id, 1, 0)                                                                    \
    X(signer_account_id, 1, 0)                                                                     \
    X(signer_account_pk, 1, 0)                                                                     \
    X(predecessor_account_id, 1, 0)                                                                \
    X(refund_to_account_id, 1, 0)                                                                  \
    X(chain_id, 1, 0)                                                                              \
    X(current_contract_code, 1, 1)                                                                 \
    X(input, 1, 0)                                                                                 \
    X(block_index, 0, 1)                                                                           \
    X(block_timestamp, 0, 1)                                                                       \
    X(epoch_height, 0, 1)                                                                          \
    X(storage_usage, 0, 1)                                                                         \
    X(account_balance, 1, 0)                                                                       \
    X(account_locked_balance, 1, 0)                                                                \
    X(attached_deposit, 1, 0)                                                                      \
    X(prepaid_gas, 0, 1)                                                                           \
    X(used_gas, 0, 1)                                                                              \
    X(random_seed, 1, 0)                                                                           \
    X(validator_stake, 3, 0)                                                                       \
    X(validator_total_stake, 1, 0)

#define NEAR_OTHER_FUNCTIONS(X)                                                                    \
    X(sha256, 3, 0)                                                                                \
    X(keccak256, 3, 0)                                                                             \
    X(keccak512, 3, 0)                                                                             \
    X(sha3_256, 3, 0)                                                                              \
    X(sha3_384, 3, 0)                                                                              \
    X(sha3_512, 3, 0)                                                                              \
    X(ripemd160, 3, 0)                                                                             \
    X(ecrecover, 7, 1)                                                                             \
    X(ed25519_verify, 6, 1)                                                                        \
    X(p256_verify, 6, 1)                                                                           \
    X(value_return, 2, 0)                                                                          \
    X(panic, 0, 0)                                                                                 \
    X(panic_utf8, 2, 0)                                                                            \
    X(log_utf8, 2, 0)                                                                              \
    X(log_utf16, 2, 0)                                                                             \
    X(abort, 4, 0)                                                                                 \
    X(storage_write, 5, 1)                                                                         \
    X(storage_read, 3, 1)                                                                          \
    X(storage_remove, 3, 1)                                                                        \
    X(storage_has_key, 2, 1)                                                                       \
    X(storage_iter_prefix, 2, 1)                                                                   \
    X(storage_iter_range, 4, 1)                                                                    \
    X(storage_iter_next, 3, 1)

#define NEAR_PROMISE_FUNCTIONS(X)                                                                  \
    X(promise_create, 8, 1)                                                                        \
    X(promise_then, 9, 1)                                                                          \
    X(promise_and, 2, 1)                                                                           \
    X(promise_batch_create, 2, 1)                                                                  \
    X(promise_batch_then, 3, 1)                                                                    \
    X(promise_results_count, 0, 1)                                                                 \
    X(promise_result, 2, 1)                                                                        \
    X(promise_return, 1, 0)                                                                        \
    X(promise_set_refund_to, 3, 0)                                                                 \
    X(promise_yield_create, 7, 1)                                                                  \
    X(promise_yield_create_with_id, 9, 1)                                                          \
    X(promise_yield_resume, 4, 1)                                                                  \
    X(promise_yield_resume_with_yield_id, 4, 1)                                                    \
    X(promise_batch_action_create_account, 1, 0)                                                   \
    X(promise_batch_action_deploy_contract, 3, 0)                                                  \
    X(promise_batch_action_function_call, 7, 0)                                                    \
    X(promise_batch_action_function_call_weight, 8, 0)                                             \
    X(promise_batch_action_transfer, 2, 0)                                                         \
    X(promise_batch_action_stake, 4, 0)                                                            \
    X(promise_batch_action_add_key_with_full_access, 4, 0)                                         \
    X(promise_batch_action_add_key_with_function_call, 9, 0)                                       \
    X(promise_batch_action_delete_key, 3, 0)                                                       \
    X(promise_batch_action_delete_account, 3, 0)                                                   \
    X(promise_batch_action_transfer_to_gas_key, 4, 0)                                              \
    X(promise_batch_action_add_gas_key_with_full_access, 4, 0)                                     \
    X(promise_batch_action_add_gas_key_with_function_call, 9, 0)

#define NEAR_CURVE_FUNCTIONS(X)                                                                    \
    X(alt_bn128_g1_multiexp, 3, 0)                                                                 \
    X(alt_bn128_g1_sum, 3, 0)                                                                      \
    X(alt_bn128_pairing_check, 2, 1)                                                               \
    X(bls12381_p1_sum, 3, 1)                                                                       \
    X(bls12381_p2_sum, 3, 1)                                                                       \
    X(bls12381_g1_multiexp, 3, 1)                                                                  \
    X(bls12381_g2_multiexp, 3, 1)                                                                  \
    X(bls12381_map_fp_to_g1, 3, 1)                                                                 \
    X(bls12381_map_fp2_to_g2, 3, 1)                                                                \
    X(bls12381_pairing_check, 2, 1)                                                                \
    X(bls12381_p1_decompress, 3, 1)                                                                \
    X(bls12381_p2_decompress, 3, 1)

/* Known by name and refused when called. */
#define NEAR_MISSING_FUNCTIONS(X)                                                                  \
    X(promise_batch_action_deploy_global_contract, 3, 0)                                           \
    X(promise_batch_action_deploy_global_contract_by_account_id, 3, 0)                             \
    X(promise_batch_action_use_global_contract, 3, 0)                                              \
    X(promise_batch_action_use_global_contract_by_account_id, 3, 0)                                \
    X(promise_batch_action_state_init, 4, 1)                                                       \
    X(promise_batch_action_state_init_by_account_id, 4, 1)                                         \
    X(set_state_init_data_entry, 6, 0)                                                             \
    X(promise_batch_action_universal_state_init, 4, 0)                                             \
    X(universal_state_init_to_account_id, 3, 0)                                                    \
    X(ml_dsa_verify, 6, 1)

#define X(name, ...) near_function near_host_##name;
NEAR_CONTEXT_FUNCTIONS(X)
NEAR_OTHER_FUNCTIONS(X)
NEAR_PROMISE_FUNCTIONS(X)
NEAR_CURVE_FUNCTIONS(X)
#undef X

enum { NEAR_ED25519_KEY_SIZE = 32, NEAR_ED25519_SIGNATURE_SIZE = 64 };

/*
 * Returns true if a signature is valid, as the crate ed25519-dalek's verify() judges: s is
 * below the group's order, and R has the encoding of [s]B - [k]A. Unlike libsodium it
 * accepts keys and R of small order.
 */
bool near_ed25519_verify(const uint8_t signature[NEAR_ED25519_SIGNATURE_SIZE],
                         const uint8_t *message, size_t length,
                         const uint8_t key[NEAR_ED25519_KEY_SIZE]);

/* ECDSA over P-256 with SHA-256, as the crate p256 has it: high values of s are accepted. */
enum { NEAR_P256_KEY_SIZE = 33, NEAR_P256_SIGNATURE_SIZE = 64 };

/* Returns true if both halves are from 1 to the group's order - 1. */
bool near_p256_is_signature(const uint8_t signature[NEAR_P256_SIGNATURE_SIZE]);

/* `key` is compressed. False also if it is not a key, or out of memory. */
bool near_p256_verify(const uint8_t signature[NEAR_P256_SIGNATURE_SIZE], const uint8_t *message,
                      size_t length, const uint8_t key[NEAR_P256_KEY_SIZE]);

#endif
