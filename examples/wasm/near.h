/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_EXAMPLES_WASM_NEAR_H
#define GASPIPE_EXAMPLES_WASM_NEAR_H

#include <stdint.h>

/* The host functions of NEAR that the examples use, by nearcore's names: each text is its length
 * and its address, or NEAR_REGISTER and a register. */
#define NEAR_IMPORT(name) __attribute__((import_module("env"), import_name(#name))) name

/* A length that stands for "what is in the register". */
#define NEAR_REGISTER UINT64_MAX

void NEAR_IMPORT(read_register)(uint64_t id, uint64_t at);
uint64_t NEAR_IMPORT(register_len)(uint64_t id);
void NEAR_IMPORT(input)(uint64_t id);
void NEAR_IMPORT(current_account_id)(uint64_t id);
void NEAR_IMPORT(predecessor_account_id)(uint64_t id);
uint64_t NEAR_IMPORT(epoch_height)(void);
void NEAR_IMPORT(account_balance)(uint64_t at);
void NEAR_IMPORT(account_locked_balance)(uint64_t at);
void NEAR_IMPORT(attached_deposit)(uint64_t at);
void NEAR_IMPORT(value_return)(uint64_t length, uint64_t at);
void NEAR_IMPORT(log_utf8)(uint64_t length, uint64_t at);
_Noreturn void NEAR_IMPORT(panic_utf8)(uint64_t length, uint64_t at);
uint64_t NEAR_IMPORT(storage_write)(uint64_t key_length, uint64_t key, uint64_t value_length,
                                    uint64_t value, uint64_t id);
uint64_t NEAR_IMPORT(storage_read)(uint64_t key_length, uint64_t key, uint64_t id);

uint64_t NEAR_IMPORT(promise_create)(uint64_t account_length, uint64_t account,
                                     uint64_t method_length, uint64_t method,
                                     uint64_t arguments_length, uint64_t arguments, uint64_t amount,
                                     uint64_t gas);
uint64_t NEAR_IMPORT(promise_then)(uint64_t promise, uint64_t account_length, uint64_t account,
                                   uint64_t method_length, uint64_t method,
                                   uint64_t arguments_length, uint64_t arguments, uint64_t amount,
                                   uint64_t gas);
uint64_t NEAR_IMPORT(promise_batch_create)(uint64_t account_length, uint64_t account);
void NEAR_IMPORT(promise_batch_action_transfer)(uint64_t promise, uint64_t amount);
void NEAR_IMPORT(promise_batch_action_stake)(uint64_t promise, uint64_t amount, uint64_t key_length,
                                             uint64_t key);
uint64_t NEAR_IMPORT(promise_result)(uint64_t index, uint64_t id);
void NEAR_IMPORT(promise_return)(uint64_t promise);

#define NEAR_EXPORT(name) __attribute__((export_name(#name))) void name(void)

#endif
