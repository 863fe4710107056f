/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASCONTRACT_H
#define GASCONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A contract in native code is a shared object that defines gascontract_call() and calls the
 * other functions. docs/native.md says how to build one; this header needs no other.
 *
 * Each call begins with the contract's memory as it was loaded: static variables have their
 * initial values, the heap is empty, the stack is zero. Data that must last goes into the
 * storage. A function that fails ends the call with an error, as gascontract_abort() does:
 * it does not return, and all effects of the call are dropped.
 */
#ifdef __cplusplus
extern "C" {
#define GASCONTRACT_NO_RETURN [[noreturn]]
#else
#define GASCONTRACT_NO_RETURN _Noreturn
#endif

enum {
    GASCONTRACT_KEY_MOST = 2048,      /* bytes */
    GASCONTRACT_VALUE_MOST = 4 << 20, /* likewise, of a value, an input and a result */
    GASCONTRACT_LOG_MOST = 16 << 10,  /* bytes in all logs of a call */
    GASCONTRACT_LOGS_MOST = 100,
    GASCONTRACT_PROMISES_MOST = 1024,
};

/* In place of a length: no such value exists. */
#define GASCONTRACT_NONE ((size_t)-1)

/* ---- what a contract defines ---- */

/* Handles a message. The texts belong to the host until the call ends; `method` is terminated. */
void gascontract_call(const char *method, const void *input, size_t length);

/* Optional. Called before the first message, when the vat starts and when it is upgraded to this
 * contract. It may neither make promises nor set a result. */
void gascontract_init(void);

/* ---- the storage: values by key, both of any bytes ---- */

/* Copies the value, or as much of it as `size` bytes hold. Returns its whole length, or
 * GASCONTRACT_NONE. */
size_t gascontract_storage_read(const void *key, size_t key_length, void *value, size_t size);
bool gascontract_storage_has(const void *key, size_t key_length);

/* Return true if there was a value before. Refused in a view call. */
bool gascontract_storage_write(const void *key, size_t key_length, const void *value,
                               size_t length);
bool gascontract_storage_remove(const void *key, size_t key_length);

/* ---- the call ---- */

/* Sets the call's result; the last one counts. */
void gascontract_result(const void *bytes, size_t length);

/* Writes a line on the console, UTF-8. */
void gascontract_log(const char *text, size_t length);

/* Ends the call with this error, UTF-8. */
GASCONTRACT_NO_RETURN void gascontract_abort(const char *words, size_t length);

/* Terminated names of accounts: the contract's own, the message's sender, the signer. */
const char *gascontract_self(void);
const char *gascontract_caller(void);
const char *gascontract_signer(void);

/* An amount of yoctoNEAR. */
struct gascontract_amount {
    uint64_t low, high; /* 64 bits each */
};

/* The deposit that came with the message, and the account's balance, which includes it. */
struct gascontract_amount gascontract_deposit(void);
struct gascontract_amount gascontract_balance(void);

bool gascontract_is_view(void);
uint64_t gascontract_block_height(void);
uint64_t gascontract_block_timestamp(void); /* nanoseconds */

/* ---- promises: messages to other contracts, sent if the call succeeds ---- */

struct gascontract_message {
    const char *account, *method; /* terminated */
    const void *input;
    size_t length;
    struct gascontract_amount deposit;
    uint64_t gas; /* for a contract in WebAssembly */
};

/* Sends a message, and returns the promise of its result, a number from 0. Refused in a view
 * call. */
uint32_t gascontract_send(const struct gascontract_message *message);

/* Like gascontract_send(), for a message that is sent when `promise` is settled, with its
 * result. */
uint32_t gascontract_then(uint32_t promise, const struct gascontract_message *message);

/* The promise's result becomes this call's result. */
void gascontract_return_promise(uint32_t promise);

/* Returns the number of results that came with this message; reads one of them as
 * gascontract_storage_read() does. GASCONTRACT_NONE: that promise failed. */
uint32_t gascontract_promise_results(void);
size_t gascontract_promise_result(uint32_t index, void *value, size_t size);

#ifdef __cplusplus
}
#endif

#endif
