/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a contract: each export is called with little gas. No call burns more than its
 * limit, a second one in the same contract comes to the same, and nothing is touched that is not
 * the contract's.
 */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "worker/near/contract.h"
#include "worker/wasm/compile/code.h"

enum { GAS = 1000 * 1000 * 1000, MOST_CALLS = 8, MOST_OPERATIONS = 20000 };

static int get(void *context, struct wasm_bytes key, struct buf *value, bool *found)
{
    (void)context;
    buf_clear(value);
    *found = key.length % 2 == 1;
    return *found ? buf_append(value, key.data, key.length) : 0;
}

static int set(void *context, struct wasm_bytes key, struct wasm_bytes value)
{
    (void)context;
    (void)key;
    (void)value;
    return 0;
}

static int take_away(void *context, struct wasm_bytes key)
{
    (void)context;
    (void)key;
    return 0;
}

static int take_log(void *context, const char *text, size_t length)
{
    (void)context;
    check(wasm_is_utf8((const uint8_t *)text, length));
    return 0;
}

static const struct near_storage storage = {
    .get = get, .set = set, .remove = take_away, .log = take_log};

static struct near_outcome call(struct near_contract *contract, const char *method)
{
    static const uint8_t input[] = "{\"account_id\":\"alice.near\",\"amount\":\"7\"}";
    const struct near_context context = {
        .current_account = "contract.near",
        .signer_account = "alice.near",
        .predecessor_account = "alice.near",
        .chain = "test",
        .input = {input, sizeof input - 1},
        .deposit = 1,
        .prepaid_gas = UINT64_C(100) * GAS,
        .operation_limit = MOST_OPERATIONS,
    };
    struct near_outcome outcome = near_contract_call(contract, method, &context, &storage);

    check(outcome.burnt_gas <= context.prepaid_gas);
    check(outcome.operations <= MOST_OPERATIONS);
    return outcome;
}

static void call_all(struct near_contract *contract, const struct wasm_module *module)
{
    for (uint32_t i = 0; i < module->export_count && i < MOST_CALLS; i++) {
        const struct wasm_bytes *name = &module->exports[i].name;
        struct near_outcome first, second;
        char method[256];

        if (name->length >= sizeof method)
            continue;
        memcpy(method, name->data, name->length);
        method[name->length] = '\0';
        first = call(contract, method);
        second = call(contract, method);
        check(first.burnt_gas == second.burnt_gas && first.operations == second.operations &&
              (first.error == NULL) == (second.error == NULL));
    }
}

/* Without NEAR's limits, which would refuse what the decoder and the compiler can do. */
static void compile_unlimited(const uint8_t *data, size_t size)
{
    enum wasm_fault fault;
    struct error error;
    struct wasm_module *module = wasm_module_decode(data, size, &wasm_no_limits, &fault, &error);
    struct wasm_code *codes;

    if (module == NULL)
        return;
    codes = wasm_compile(module, wasm_handlers(), &fault, &error);
    check((codes == NULL) == (fault != WASM_FAULT_NONE));
    wasm_code_free_all(codes, module->function_count);
    wasm_module_free(module);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum wasm_fault fault;
    struct error error;
    struct wasm_module *module;
    struct near_contract *contract;

    compile_unlimited(data, size);
    contract = near_contract_open(data, size, "newest", &error);
    check(contract != NULL);
    module = wasm_module_decode(data, size, &wasm_no_limits, &fault, &error);
    if (module != NULL)
        call_all(contract, module);
    wasm_module_free(module);
    near_contract_close(contract);
    return 0;
}
