/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_EXAMPLES_WASM_TOKEN_NEAR_H
#define GASPIPE_EXAMPLES_WASM_TOKEN_NEAR_H

#include <stdint.h>

/* The host functions of NEAR that the example uses, by nearcore's names. */
#define NEAR_IMPORT(name) __attribute__((import_module("env"), import_name(#name))) name

/* A length that stands for "what is in the register". */
#define NEAR_REGISTER UINT64_MAX

void NEAR_IMPORT(read_register)(uint64_t id, uint64_t at);
uint64_t NEAR_IMPORT(register_len)(uint64_t id);
void NEAR_IMPORT(input)(uint64_t id);
void NEAR_IMPORT(predecessor_account_id)(uint64_t id);
void NEAR_IMPORT(attached_deposit)(uint64_t at);
void NEAR_IMPORT(value_return)(uint64_t length, uint64_t at);
void NEAR_IMPORT(log_utf8)(uint64_t length, uint64_t at);
_Noreturn void NEAR_IMPORT(panic_utf8)(uint64_t length, uint64_t at);
uint64_t NEAR_IMPORT(storage_write)(uint64_t key_length, uint64_t key, uint64_t value_length,
                                    uint64_t value, uint64_t id);
uint64_t NEAR_IMPORT(storage_read)(uint64_t key_length, uint64_t key, uint64_t id);

#define NEAR_EXPORT(name) __attribute__((export_name(#name))) void name(void)

#endif
