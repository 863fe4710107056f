/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASCONTRACT_H
#define GASCONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A contract in native code: a shared object that defines gascontract_call() and calls the other
 * functions. The header stands alone; docs/native.md says how a contract is built.
 *
 * Each call begins with the contract's memory as it was loaded: static variables are what their
 * initializers say, the heap is empty, the stack is zero. What is to stay goes into the storage.
 *
 * A function that cannot do what it is asked to ends the call with an error, as
 * gascontract_abort() does: it does not return, and nothing that the call did remains.
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

/* In place of a length: there is no such value. */
#define GASCONTRACT_NONE ((size_t)-1)

/* ---- what a contract defines ---- */

/* A message to the contract. The texts are the host's until the call ends; `method` is terminated.
 */
void gascontract_call(const char *method, const void *input, size_t length);

/*
 * Called when the vat starts, and when it is upgraded to this contract, before the first message;
 * a contract need not define it. It may neither make promises nor set a result.
 */
void gascontract_init(void);

/* ---- the storage: values by key, both of any bytes ---- */

/*
 * Copies the value there, or as much of it as `size` bytes hold. Its whole length, or
 * GASCONTRACT_NONE.
 */
size_t gascontract_storage_read(const void *key, size_t key_length, void *value, size_t size);
bool gascontract_storage_has(const void *key, size_t key_length);

/* Each is true when there was a value before. Refused in a view call. */
bool gascontract_storage_write(const void *key, size_t key_length, const void *value,
                               size_t length);
bool gascontract_storage_remove(const void *key, size_t key_length);

/* ---- the call ---- */

/* What the caller is answered; the last one holds. */
void gascontract_result(const void *bytes, size_t length);

/* A line on the console, UTF-8. */
void gascontract_log(const char *text, size_t length);

/* Ends the call with an error in these words, UTF-8. */
GASCONTRACT_NO_RETURN void gascontract_abort(const char *words, size_t length);

/* Accounts, terminated: the contract's own, who sent the message, who signed for it. */
const char *gascontract_self(void);
const char *gascontract_caller(void);
const char *gascontract_signer(void);

/* An amount of yoctoNEAR. */
struct gascontract_amount {
    uint64_t low, high; /* 64 bits each */
};

/* What came with the message, and what the account has, that included. */
struct gascontract_amount gascontract_deposit(void);
struct gascontract_amount gascontract_balance(void);

bool gascontract_is_view(void);
uint64_t gascontract_block_height(void);
uint64_t gascontract_block_timestamp(void); /* nanoseconds */

/* ---- promises: messages to other accounts' contracts, sent when the call has ended well ---- */

struct gascontract_message {
    const char *account, *method; /* terminated */
    const void *input;
    size_t length;
    struct gascontract_amount deposit;
    uint64_t gas; /* for a contract in WebAssembly */
};

/* The promise of that message's result, a number from 0. Refused in a view call. */
uint32_t gascontract_send(const struct gascontract_message *message);

/* The same of a message that is sent when `promise` is settled, and has its result. */
uint32_t gascontract_then(uint32_t promise, const struct gascontract_message *message);

/* The promise's result becomes that of this call. */
void gascontract_return_promise(uint32_t promise);

/* How many results came with this message; one of them, as gascontract_storage_read() gives
 * values. GASCONTRACT_NONE: that promise failed. */
uint32_t gascontract_promise_results(void);
size_t gascontract_promise_result(uint32_t index, void *value, size_t size);

#ifdef __cplusplus
}
#endif

#endif
