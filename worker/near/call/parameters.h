/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_CALL_PARAMETERS_H
#define GASPIPE_WORKER_NEAR_CALL_PARAMETERS_H

#include <stdint.h>

#include "base/error.h"
#include "worker/wasm/module/module.h"

/* NEAR's gas costs and limits. parameters.txt has the numbers, under nearcore's names;
 * scripts/near-parameters derives it. */

/* Costs of host functions, by nearcore's names in ExtCosts. */
#define NEAR_COSTS(X)                                                                              \
    X(base)                                                                                        \
    X(contract_loading_base)                                                                       \
    X(contract_loading_bytes)                                                                      \
    X(read_memory_base)                                                                            \
    X(read_memory_byte)                                                                            \
    X(write_memory_base)                                                                           \
    X(write_memory_byte)                                                                           \
    X(read_register_base)                                                                          \
    X(read_register_byte)                                                                          \
    X(write_register_base)                                                                         \
    X(write_register_byte)                                                                         \
    X(utf8_decoding_base)                                                                          \
    X(utf8_decoding_byte)                                                                          \
    X(utf16_decoding_base)                                                                         \
    X(utf16_decoding_byte)                                                                         \
    X(sha256_base)                                                                                 \
    X(sha256_byte)                                                                                 \
    X(keccak256_base)                                                                              \
    X(keccak256_byte)                                                                              \
    X(keccak512_base)                                                                              \
    X(keccak512_byte)                                                                              \
    X(sha3_256_base)                                                                               \
    X(sha3_256_byte)                                                                               \
    X(sha3_384_base)                                                                               \
    X(sha3_384_byte)                                                                               \
    X(sha3_512_base)                                                                               \
    X(sha3_512_byte)                                                                               \
    X(ripemd160_base)                                                                              \
    X(ripemd160_block)                                                                             \
    X(ecrecover_base)                                                                              \
    X(ed25519_verify_base)                                                                         \
    X(ed25519_verify_byte)                                                                         \
    X(p256_verify_base)                                                                            \
    X(p256_verify_byte)                                                                            \
    X(alt_bn128_g1_multiexp_base)                                                                  \
    X(alt_bn128_g1_multiexp_element)                                                               \
    X(alt_bn128_g1_sum_base)                                                                       \
    X(alt_bn128_g1_sum_element)                                                                    \
    X(alt_bn128_pairing_check_base)                                                                \
    X(alt_bn128_pairing_check_element)                                                             \
    X(bls12381_p1_sum_base)                                                                        \
    X(bls12381_p1_sum_element)                                                                     \
    X(bls12381_p2_sum_base)                                                                        \
    X(bls12381_p2_sum_element)                                                                     \
    X(bls12381_g1_multiexp_base)                                                                   \
    X(bls12381_g1_multiexp_element)                                                                \
    X(bls12381_g2_multiexp_base)                                                                   \
    X(bls12381_g2_multiexp_element)                                                                \
    X(bls12381_map_fp_to_g1_base)                                                                  \
    X(bls12381_map_fp_to_g1_element)                                                               \
    X(bls12381_map_fp2_to_g2_base)                                                                 \
    X(bls12381_map_fp2_to_g2_element)                                                              \
    X(bls12381_pairing_base)                                                                       \
    X(bls12381_pairing_element)                                                                    \
    X(bls12381_p1_decompress_base)                                                                 \
    X(bls12381_p1_decompress_element)                                                              \
    X(bls12381_p2_decompress_base)                                                                 \
    X(bls12381_p2_decompress_element)                                                              \
    X(log_base)                                                                                    \
    X(log_byte)                                                                                    \
    X(storage_write_base)                                                                          \
    X(storage_write_key_byte)                                                                      \
    X(storage_write_value_byte)                                                                    \
    X(storage_write_evicted_byte)                                                                  \
    X(storage_read_base)                                                                           \
    X(storage_read_key_byte)                                                                       \
    X(storage_read_value_byte)                                                                     \
    X(storage_large_read_overhead_base)                                                            \
    X(storage_large_read_overhead_byte)                                                            \
    X(storage_remove_base)                                                                         \
    X(storage_remove_key_byte)                                                                     \
    X(storage_remove_ret_value_byte)                                                               \
    X(storage_has_key_base)                                                                        \
    X(storage_has_key_byte)                                                                        \
    X(promise_and_base)                                                                            \
    X(promise_and_per_promise)                                                                     \
    X(promise_return)                                                                              \
    X(yield_create_base)                                                                           \
    X(yield_create_byte)                                                                           \
    X(yield_create_with_id_base)                                                                   \
    X(yield_resume_base)                                                                           \
    X(yield_resume_byte)                                                                           \
    X(validator_stake_base)                                                                        \
    X(validator_total_stake_base)

/* Fees of receipts and actions: nearcore's names in ActionCosts, and of the parameters. */
#define NEAR_FEES(X)                                                                               \
    X(new_action_receipt, action_receipt_creation)                                                 \
    X(new_data_receipt_base, data_receipt_creation_base)                                           \
    X(new_data_receipt_byte, data_receipt_creation_per_byte)                                       \
    X(create_account, action_create_account)                                                       \
    X(delete_account, action_delete_account)                                                       \
    X(deploy_contract_base, action_deploy_contract)                                                \
    X(deploy_contract_byte, action_deploy_contract_per_byte)                                       \
    X(function_call_base, action_function_call)                                                    \
    X(function_call_byte, action_function_call_per_byte)                                           \
    X(transfer, action_transfer)                                                                   \
    X(stake, action_stake)                                                                         \
    X(add_full_access_key, action_add_full_access_key)                                             \
    X(add_function_call_key_base, action_add_function_call_key)                                    \
    X(add_function_call_key_byte, action_add_function_call_key_per_byte)                           \
    X(delete_key, action_delete_key)                                                               \
    X(gas_key_transfer_base, action_gas_key_transfer)                                              \
    X(gas_key_byte, action_gas_key_byte)                                                           \
    X(gas_key_nonce_write_base, action_gas_key_nonce_write_base)

/* Other settings. */
#define NEAR_SETTINGS(X)                                                                           \
    X(wasm_regular_op_cost)                                                                        \
    X(wasm_linear_op_base_cost)                                                                    \
    X(wasm_linear_op_unit_cost)                                                                    \
    X(max_gas_burnt)                                                                               \
    X(max_gas_burnt_view)                                                                          \
    X(max_stack_height)                                                                            \
    X(initial_memory_pages)                                                                        \
    X(max_memory_pages)                                                                            \
    X(registers_memory_limit)                                                                      \
    X(max_register_size)                                                                           \
    X(max_number_registers)                                                                        \
    X(max_number_logs)                                                                             \
    X(max_total_log_length)                                                                        \
    X(max_length_returned_data)                                                                    \
    X(max_length_storage_key)                                                                      \
    X(max_length_storage_value)                                                                    \
    X(max_contract_size)                                                                           \
    X(max_arguments_length)                                                                        \
    X(max_length_method_name)                                                                      \
    X(max_number_bytes_method_names)                                                               \
    X(max_actions_per_receipt)                                                                     \
    X(max_deploy_actions_per_receipt)                                                              \
    X(max_receipt_size)                                                                            \
    X(max_promises_per_function_call_action)                                                       \
    X(max_number_input_data_dependencies)                                                          \
    X(yield_timeout_length_in_blocks)                                                              \
    X(max_yield_payload_size)                                                                      \
    X(max_functions_number_per_contract)                                                           \
    X(max_locals_per_contract)                                                                     \
    X(max_tables_per_contract)                                                                     \
    X(max_elements_per_contract_table)                                                             \
    X(max_function_body_size)                                                                      \
    X(max_blocks_per_function)                                                                     \
    X(max_blocks_per_contract)                                                                     \
    X(max_types_per_contract)                                                                      \
    X(max_params_per_function)                                                                     \
    X(max_params_per_contract)                                                                     \
    X(max_operand_stack_bytes_per_function)                                                        \
    X(max_globals_per_contract)                                                                    \
    X(min_contract_size_per_local)                                                                 \
    X(per_receipt_storage_proof_size_limit)                                                        \
    X(storage_amount_per_byte)                                                                     \
    X(storage_num_extra_bytes_record)                                                              \
    X(reftypes_bulk_memory)                                                                        \
    X(fix_contract_loading_cost)                                                                   \
    X(saturating_float_to_int)                                                                     \
    X(yield_resume_host_fns)                                                                       \
    X(yield_with_id_host_fns)                                                                      \
    X(bls12381_host_fns)                                                                           \
    X(bls12381_not_in_group_fix)                                                                   \
    X(global_contract_host_fns)                                                                    \
    X(deterministic_account_ids)                                                                   \
    X(chain_id_host_fn)                                                                            \
    X(gas_key_host_fns)                                                                            \
    X(p256_verify_host_fn)                                                                         \
    X(sha3_host_fns)                                                                               \
    X(ml_dsa_verify_host_fn)                                                                       \
    X(ml_dsa_65_verification_cost)                                                                 \
    X(fix_ml_dsa_cost_charging)                                                                    \
    X(one_yocto_on_promise)                                                                        \
    X(universal_accounts)

enum near_cost {
#define X(name) NEAR_COST_##name,
    NEAR_COSTS(X)
#undef X
        NEAR_COST_COUNT
};

enum near_fee_kind {
#define X(name, parameter) NEAR_FEE_##name,
    NEAR_FEES(X)
#undef X
        NEAR_FEE_COUNT
};

struct near_fee {
    uint64_t send_sir; /* sent to the account that sends it ("sender is receiver") */
    uint64_t send_not_sir;
    uint64_t execution;
};

struct near_parameters {
    uint64_t cost[NEAR_COST_COUNT];
    struct near_fee fee[NEAR_FEE_COUNT];
#define X(name) uint64_t name;
    NEAR_SETTINGS(X)
#undef X
};

/* The first supported protocol version. Earlier ones charged operations in another way. */
enum { NEAR_PROTOCOL_FIRST = 62 };

/* Reads the parameters of a protocol version, decimal or "newest": the newest that is released.
 * -1 with ERROR_USAGE for another version, or with ERROR_SYSTEM if the built-in file lacks a
 * parameter. */
int near_parameters_read(struct near_parameters *parameters, const char *version,
                         struct error *error);

/* Returns the limits on modules. */
struct wasm_limits near_module_limits(const struct near_parameters *parameters);

/* Returns nearcore's name. */
const char *near_cost_name(enum near_cost cost);
const char *near_fee_name(enum near_fee_kind fee);

#endif
