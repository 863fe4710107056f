/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_CALL_H
#define GASPIPE_WORKER_NEAR_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "worker/near/parameters.h"
#include "worker/wasm/run/instance.h"

/* A call of a contract's method, and what its host functions share. */

/* What a call is told of the world; texts are borrowed. */
struct near_context {
    const char *current_account, *signer_account, *predecessor_account;
    struct wasm_bytes signer_key, random_seed, input;
    uint64_t block_height, block_timestamp, epoch_height;
    unsigned __int128 balance, locked_balance, deposit; /* balance: without the deposit */
    uint64_t storage_usage;
    uint64_t prepaid_gas;
    uint64_t operation_limit; /* of the host's, whatever gas there is; 0: none */
    bool is_view;
};

/*
 * Where the contract's storage is. Each is 0, or -1 when the storage cannot be had any more: the
 * call ends at once. `value` is replaced.
 */
struct near_storage {
    void *context;
    int (*get)(void *context, struct wasm_bytes key, struct buf *value, bool *found);
    int (*set)(void *context, struct wasm_bytes key, struct wasm_bytes value);
    int (*remove)(void *context, struct wasm_bytes key);
    int (*log)(void *context, const char *text, size_t length);
};

struct near_register {
    uint64_t id;
    struct buf bytes;
    bool is_set;
};

enum { NEAR_ERROR_SIZE = 1024 };

struct near_call {
    const struct near_parameters *parameters;
    const struct near_context *context;
    const struct near_storage *storage;
    struct wasm_machine *machine;
    struct wasm_instance *instance;
    uint64_t gas_limit;
    uint64_t host_gas;  /* burnt by other than operations */
    int64_t granted;    /* operations that machine->left began with */
    bool is_out_of_gas; /* all of the limit is burnt */
    bool is_over_limit; /* of operations */
    bool is_lost;       /* the storage is */
    struct near_register *registers;
    uint32_t register_count;
    uint64_t register_bytes;
    uint64_t storage_usage;
    uint64_t log_count, log_bytes;
    struct buf old_value; /* what storage gave last */
    struct buf result;
    bool has_result;
    char error[NEAR_ERROR_SIZE]; /* empty: all is well */
};

/* How a call went. What buffers hold is the engine's until the next call. */
struct near_outcome {
    uint64_t burnt_gas;
    uint64_t operations;
    uint64_t storage_usage;
    bool has_result;
    bool is_lost;
    bool is_over_limit; /* more operations than the context allows */
    const struct buf *result;
    const char *error; /* NULL: it went well */
};

/* ---- gas; false, with the call's error, when it cannot be paid ---- */
bool near_pay(struct near_call *call, uint64_t gas);
bool near_pay_each(struct near_call *call, uint64_t gas, uint64_t count);
uint64_t near_burnt(const struct near_call *call);
uint64_t near_operations(const struct near_call *call);

/* Gives out what is left of the gas as operations. */
void near_grant(struct near_call *call);

/* Says why the call ends, unless that has been said. Always false. */
bool near_fail(struct near_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- memory and registers, with their gas ---- */

/* Bytes of the contract's memory, until it runs again. */
bool near_view(struct near_call *call, uint64_t at, uint64_t length, struct wasm_bytes *bytes);
bool near_put(struct near_call *call, uint64_t at, const void *bytes, uint64_t length);

/* The same, or of a register when the length is UINT64_MAX. */
bool near_take(struct near_call *call, uint64_t length, uint64_t at, struct wasm_bytes *bytes);

bool near_register_get(struct near_call *call, uint64_t id, struct wasm_bytes *bytes);
bool near_register_set(struct near_call *call, uint64_t id, const void *bytes, uint64_t length);
bool near_register_length(const struct near_call *call, uint64_t id, uint64_t *length);

/* UTF-8 text; a length of UINT64_MAX: up to its zero byte. */
bool near_text(struct near_call *call, uint64_t length, uint64_t at, struct wasm_bytes *text);

void near_call_free(struct near_call *call);

#endif
