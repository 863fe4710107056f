/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_PARAMETERS_H
#define GASPIPE_WORKER_NEAR_PARAMETERS_H

#include <stdint.h>

#include "base/error.h"
#include "worker/wasm/module/module.h"

/*
 * What a call costs on NEAR, in gas, and what it may do. The numbers stand in parameters.txt,
 * by nearcore's names, with their source.
 */
#define NEAR_PARAMETERS(X)                                                                         \
    X(wasm_regular_op_cost)                                                                        \
    X(wasm_linear_op_base_cost)                                                                    \
    X(wasm_linear_op_unit_cost)                                                                    \
    X(wasm_base)                                                                                   \
    X(wasm_contract_loading_base)                                                                  \
    X(wasm_contract_loading_bytes)                                                                 \
    X(wasm_read_memory_base)                                                                       \
    X(wasm_read_memory_byte)                                                                       \
    X(wasm_write_memory_base)                                                                      \
    X(wasm_write_memory_byte)                                                                      \
    X(wasm_read_register_base)                                                                     \
    X(wasm_read_register_byte)                                                                     \
    X(wasm_write_register_base)                                                                    \
    X(wasm_write_register_byte)                                                                    \
    X(wasm_utf8_decoding_base)                                                                     \
    X(wasm_utf8_decoding_byte)                                                                     \
    X(wasm_utf16_decoding_base)                                                                    \
    X(wasm_utf16_decoding_byte)                                                                    \
    X(wasm_sha256_base)                                                                            \
    X(wasm_sha256_byte)                                                                            \
    X(wasm_keccak256_base)                                                                         \
    X(wasm_keccak256_byte)                                                                         \
    X(wasm_keccak512_base)                                                                         \
    X(wasm_keccak512_byte)                                                                         \
    X(wasm_ripemd160_base)                                                                         \
    X(wasm_ripemd160_block)                                                                        \
    X(wasm_log_base)                                                                               \
    X(wasm_log_byte)                                                                               \
    X(wasm_storage_write_base)                                                                     \
    X(wasm_storage_write_key_byte)                                                                 \
    X(wasm_storage_write_value_byte)                                                               \
    X(wasm_storage_write_evicted_byte)                                                             \
    X(wasm_storage_read_base)                                                                      \
    X(wasm_storage_read_key_byte)                                                                  \
    X(wasm_storage_read_value_byte)                                                                \
    X(wasm_storage_remove_base)                                                                    \
    X(wasm_storage_remove_key_byte)                                                                \
    X(wasm_storage_remove_ret_value_byte)                                                          \
    X(wasm_storage_has_key_base)                                                                   \
    X(wasm_storage_has_key_byte)                                                                   \
    X(max_gas_burnt)                                                                               \
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
    X(max_functions_number_per_contract)                                                           \
    X(max_locals_per_contract)                                                                     \
    X(max_tables_per_contract)                                                                     \
    X(max_elements_per_contract_table)                                                             \
    X(max_function_body_size)                                                                      \
    X(max_blocks_per_function)                                                                     \
    X(max_blocks_per_contract)                                                                     \
    X(max_types_per_contract)                                                                      \
    X(max_params_per_function)                                                                     \
    X(storage_num_extra_bytes_record)                                                              \
    X(reftypes_bulk_memory)

struct near_parameters {
#define X(name) uint64_t name;
    NEAR_PARAMETERS(X)
#undef X
};

/*
 * Those of a protocol version: "62" or "newest". -1 with ERROR_USAGE for another, or with
 * ERROR_SYSTEM when the file that is built in lacks one.
 */
int near_parameters_read(struct near_parameters *parameters, const char *version,
                         struct error *error);

/* What these say of modules. */
struct wasm_limits near_module_limits(const struct near_parameters *parameters);

#endif
