/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_CALL_CALL_H
#define GASPIPE_WORKER_NEAR_CALL_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "worker/near/call/parameters.h"
#include "worker/wasm/run/instance.h"

/* Receipts: actions on accounts that a call requests, and that run after it. */

enum near_action_kind {
    NEAR_ACTION_FUNCTION_CALL, /* method, arguments, amount, gas, weight */
    NEAR_ACTION_TRANSFER,      /* amount */
    NEAR_ACTION_CREATE_ACCOUNT,
    NEAR_ACTION_DEPLOY_CONTRACT, /* arguments: the code */
    NEAR_ACTION_STAKE,           /* amount; arguments: the public key, as in all of these */
    NEAR_ACTION_ADD_FULL_ACCESS_KEY,
    NEAR_ACTION_ADD_FUNCTION_CALL_KEY,
    NEAR_ACTION_DELETE_KEY,
    NEAR_ACTION_DELETE_ACCOUNT, /* arguments: the beneficiary */
    NEAR_ACTION_TRANSFER_TO_GAS_KEY,
    NEAR_ACTION_ADD_GAS_KEY, /* either permission */
};

struct near_action {
    enum near_action_kind kind;
    struct buf method; /* of a key: the methods that it may call, separated by commas */
    struct buf arguments;
    unsigned __int128 amount; /* yoctoNEAR */
    uint64_t gas;
    uint64_t weight; /* its share in the gas that the call leaves */
};

/* A yielded promise's name: NEAR_YIELD_BY_DATA and a hash, or NEAR_YIELD_BY_NAME and what the
 * contract chose, 32 bytes in hexadecimal. */
enum { NEAR_YIELD_BYTES = 32, NEAR_YIELD_SIZE = 1 + 2 * NEAR_YIELD_BYTES + 1 };
#define NEAR_YIELD_BY_DATA 'd'
#define NEAR_YIELD_BY_NAME 'y'

struct near_receipt {
    struct buf receiver;
    struct buf refund_to; /* the account that gets its deposits if it fails; empty: the sender */
    struct near_action *actions;
    uint32_t action_count;
    uint32_t *waits_for; /* earlier receipts, whose results it receives */
    uint32_t wait_count;
    char yield[NEAR_YIELD_SIZE]; /* waits to be resumed by this name; "": it does not */
    uint64_t expires;            /* the block in which that has failed */
};

/* Bytes for the receipt that waits by this name. */
struct near_resumption {
    char yield[NEAR_YIELD_SIZE];
    struct buf payload;
};

/* A promise is one receipt, or a join of several. */
struct near_promise {
    bool is_joint;
    uint32_t *receipts;
    uint32_t receipt_count;
};

/* All that a call created, in order. All zeros is empty. */
struct near_receipts {
    struct near_receipt *receipts;
    uint32_t count;
    struct near_promise *promises;
    uint32_t promise_count;
    struct near_resumption *resumptions;
    uint32_t resumption_count;
};

/* Each copies its arguments; NULL if out of memory. The returned pointer is valid until the next
 * call of the same function. */
struct near_receipt *near_receipts_add(struct near_receipts *receipts, const void *receiver,
                                       size_t length, const uint32_t *waits_for,
                                       uint32_t wait_count);
struct near_promise *near_receipts_add_promise(struct near_receipts *receipts, bool is_joint,
                                               const uint32_t *members, uint32_t count);
struct near_action *near_receipt_add_action(struct near_receipt *receipt,
                                            enum near_action_kind kind);
struct near_resumption *near_receipts_add_resumption(struct near_receipts *receipts,
                                                     const char *yield, struct wasm_bytes payload);

/* Distributes remaining gas to the function calls with a weight, in proportion; the last one
 * gets the remainder. False if none has a weight. */
bool near_receipts_distribute(struct near_receipts *receipts, uint64_t gas);

/* Frees the memory, and empties the list. */
void near_receipts_free(struct near_receipts *receipts);

/* Returns true if the bytes are a valid NEAR account name. */
bool near_is_account(const void *bytes, size_t length);

/*
 * A call of a contract's method, shared by its host functions.
 *
 * On NEAR, gas pays for everything: the module's bytes, each WebAssembly operation, each
 * host function and byte that it handles, and the receipts that the call makes. A call has
 * two limits at once. burnt_limit bounds what it burns; prepaid_gas bounds that plus the gas
 * attached to promises.
 *
 *     prepaid_gas |-- burnt: host_gas + operations --|-- promises_gas --|-- left --|
 *
 * The interpreter counts operations down in machine->left. After a host function has paid,
 * near_grant() sets machine->left again, to the operations that the remaining gas buys. So
 * gas is exact at every host call, and an operation costs no multiplication.
 */

/* The result of a receipt that the call waited for. */
struct near_promise_result {
    bool is_failed;
    struct wasm_bytes bytes; /* of one that is not; borrowed */
};

/* The world that a call can ask about; texts are borrowed. */
struct near_context {
    const char *current_account, *signer_account, *predecessor_account;
    const char *refund_account; /* NULL: the predecessor */
    const char *chain;
    struct wasm_bytes signer_key, random_seed, input;
    uint64_t block_height, block_timestamp, epoch_height;
    unsigned __int128 balance, locked_balance, deposit; /* balance: without the deposit */
    uint64_t storage_usage;
    uint64_t prepaid_gas;
    /* Returns true if a promise of this name that the account yielded waits; NULL: none does. */
    bool (*is_waiting)(const void *yields, const char *name);
    const void *yields;
    uint64_t yielded;         /* promises that it has yielded and NEAR named */
    uint64_t operation_limit; /* the host's own limit, whatever gas is left; 0: none */
    bool is_view;
    const struct near_promise_result *results; /* of the receipts that it waited for */
    uint32_t result_count;
    const char *const *receivers; /* accounts that wait for this call's result */
    uint32_t receiver_count;
};

/* The contract's storage. Functions return 0, or -1 if the storage was lost, which ends the call
 * at once. `value` is replaced. */
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
};

/* Bytes of storage that the call touched, as the limit on a receipt's proof counts them. */
struct near_proof {
    uint64_t bytes;
    uint64_t *marks; /* of values that it has and keys that the call wrote; 0: free */
    uint32_t count, capacity;
    uint64_t few[64]; /* the first marks, so that most calls allocate nothing */
};

enum { NEAR_ERROR_SIZE = 1024 };

/* Not a receipt's number. */
#define NEAR_NO_RECEIPT UINT32_MAX

/* Gas burnt by cost; operations have the rest. */
struct near_profile {
    uint64_t cost[NEAR_COST_COUNT];
    uint64_t fee[NEAR_FEE_COUNT];
};

struct near_call {
    const struct near_parameters *parameters;
    const struct near_context *context;
    const struct near_storage *storage;
    struct wasm_machine *machine;
    struct wasm_instance *instance;
    uint64_t burnt_limit;     /* limit on all gas that the call burns */
    uint64_t prepaid_gas;     /* limit on burnt gas plus gas attached to promises */
    uint64_t gas_limit;       /* what these two leave for burning */
    uint64_t promises_gas;    /* attached to promises, or reserved for their execution */
    uint64_t host_gas;        /* burnt by anything but operations */
    uint64_t exhausted_burnt; /* all gas burnt, if the call ran out of gas */
    struct near_profile profile;
    int64_t granted;    /* operations that machine->left began with */
    bool is_out_of_gas; /* exhausted_burnt is burnt */
    bool is_over_limit; /* of operations */
    bool is_lost;       /* the pipe to the storage failed */
    struct near_register *registers;
    uint32_t register_count;
    uint64_t register_bytes; /* as nearcore counts them, with 8 for each register */
    uint64_t storage_usage;
    struct near_proof proof;
    uint64_t log_count, log_bytes;
    unsigned __int128 balance; /* with the deposit, without amounts given to promises */
    struct buf old_value;      /* what storage gave last */
    struct buf result;
    bool has_result;
    struct near_receipts receipts;
    uint32_t returned_receipt;   /* the receipt whose result is the call's; or NEAR_NO_RECEIPT */
    char error[NEAR_ERROR_SIZE]; /* empty: no error */
};

/* The outcome of a call. Buffers belong to the engine until the next call. */
struct near_outcome {
    uint64_t burnt_gas;
    uint64_t used_gas; /* with gas attached to promises */
    struct near_profile profile;
    uint64_t operations;
    uint64_t storage_usage;
    unsigned __int128 balance;
    unsigned __int128 stored; /* the balance that this usage requires */
    bool has_result;
    bool is_lost;
    bool is_over_limit; /* the call passed the context's operation_limit */
    bool is_over_cost;  /* the call passed its limit of block cost */
    bool cost_known;    /* the contract has the compiled-in meter: */
    uint64_t block_cost;
    const struct buf *result;
    struct near_receipts *receipts; /* to be carried out if the call succeeded */
    uint32_t returned_receipt;
    const char *error; /* NULL: success */
};

/* ---- gas; false, with the call's error, if it cannot be paid ---- */
bool near_pay(struct near_call *call, enum near_cost cost);
bool near_pay_each(struct near_call *call, enum near_cost cost, uint64_t count);

/* Burns gas for a fee, and reserves more of it for what happens later. */
bool near_pay_fee(struct near_call *call, enum near_fee_kind fee, uint64_t burnt,
                  uint64_t reserved);

/* The fee of an action: sending is burnt, execution reserved. */
bool near_pay_action(struct near_call *call, enum near_fee_kind fee, uint64_t count, bool is_own);

uint64_t near_burnt(const struct near_call *call);
uint64_t near_used(const struct near_call *call);
uint64_t near_operations(const struct near_call *call);

/* Burns all gas, because operations ran out. */
void near_exhaust(struct near_call *call);

/* Sets the call's error, if none is set. Returns false. */
bool near_fail(struct near_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns false with the error in a view call, which may not call this host function. */
bool near_not_in_view(struct near_call *call, const char *name);

/* Ends the call because the host is out of memory. Returns false. */
bool near_no_memory(struct near_call *call);

/* ---- memory and registers, with their gas ---- */

/* Bytes of the contract's memory, until it runs again. */
bool near_view(struct near_call *call, uint64_t at, uint64_t length, struct wasm_bytes *bytes);
bool near_put(struct near_call *call, uint64_t at, const void *bytes, uint64_t length);

/* Like near_view(), or a register's bytes if the length is UINT64_MAX. */
bool near_take(struct near_call *call, uint64_t length, uint64_t at, struct wasm_bytes *bytes);

bool near_take_amount(struct near_call *call, uint64_t at, unsigned __int128 *amount);

/* As near_take(): the name of an account. */
bool near_take_account(struct near_call *call, uint64_t length, uint64_t at,
                       struct wasm_bytes *account);

bool near_register_get(struct near_call *call, uint64_t id, struct wasm_bytes *bytes);
bool near_register_set(struct near_call *call, uint64_t id, const void *bytes, uint64_t length);

/* Like near_register_set(), for data that the chain holds anyway: newer versions charge nothing
 * for its bytes. */
bool near_register_share(struct near_call *call, uint64_t id, const void *bytes, uint64_t length);
bool near_register_length(const struct near_call *call, uint64_t id, uint64_t *length);

/* ---- the proof of storage; false with the call's error beyond its limit ---- */

/* Adds a value that storage had, unless the call wrote it. */
bool near_proof_read(struct near_call *call, struct wasm_bytes key, struct wasm_bytes value);

void near_proof_free(struct near_proof *proof);

/* Notes that the call writes or removes a key. */
bool near_proof_write(struct near_call *call, struct wasm_bytes key, bool is_removal);

/* ---- texts ---- */

/* UTF-8 text; a length of UINT64_MAX: up to its zero byte. */
bool near_text(struct near_call *call, uint64_t length, uint64_t at, struct wasm_bytes *text);

/* UTF-16 text, appended as UTF-8; likewise. */
bool near_text_16(struct near_call *call, uint64_t length, uint64_t at, struct buf *text);

/* Returns true if the call may log once more. */
bool near_may_log(struct near_call *call);

/* Pays for a log, and makes it. */
bool near_log_pay(struct near_call *call, size_t length);
bool near_log_push(struct near_call *call, const char *text, size_t length);

/* Checks the call's receipts against the limits. False with the call's error beyond one. */
bool near_check_receipts(struct near_call *call);

/* Begins a call with the given `parameters`, `machine`, `instance` and burnable gas; frees the
 * previous call. Context and storage are borrowed. */
void near_call_begin(struct near_call *call, const struct near_context *context,
                     const struct near_storage *storage);
void near_call_free(struct near_call *call);

/* ---- calls that are repeated ---- */

/*
 * A call's requests to its storage, and the answers. If compiled code abandons the call, the
 * interpreter repeats it: requests that the kernel has answered are answered from here, and only
 * later ones reach the kernel. So the kernel sees one call.
 */
struct near_journal {
    const struct near_storage *kernel;  /* borrowed */
    struct near_storage storage;        /* what the call uses */
    struct near_journal_entry *entries; /* owned */
    size_t count, capacity;
    size_t next; /* the entry that answers next; count: the kernel answers */
};

/* Begins a call with an empty journal. */
void near_journal_begin(struct near_journal *journal, const struct near_storage *kernel);

/* Before the call is repeated. A request that differs from its entry is lost. */
void near_journal_rewind(struct near_journal *journal);

/* Frees the memory. */
void near_journal_free(struct near_journal *journal);

#endif
