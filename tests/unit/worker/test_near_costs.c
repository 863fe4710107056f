/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares charges and answers of each of NEAR's host functions with the expectations of
 * nearcore's own tests: runtime/near-vm-runner/src/logic/tests. Each test names the file, with
 * its commit, and the tests there.
 */
#include "tests/unit/worker/near_logic.h"
#include "worker/near/host/host.h"

/* ---- miscs.rs, commit 02e1c929 ---- */

/* test_sha256, test_keccak256, test_keccak512, test_ripemd160 */
static void hashes(void **state)
{
    static const struct {
        near_function *function;
        const char *hash, *costs;
    } cases[] = {
        {near_host_sha256, "12b0739c2d64f184b4864d2a696fc77f76705cff582b53937a371a242a9ca09e",
         "base 1 read_memory_base 1 read_memory_byte 7 write_memory_base 1 write_memory_byte 32 "
         "read_register_base 1 read_register_byte 32 write_register_base 1 write_register_byte 32 "
         "sha256_base 1 sha256_byte 7"},
        {near_host_keccak256, "686e3a7ae6b5d791e7e531a27ba7b13a1a8e81ad0725091ae97340663d550a9f",
         "base 1 read_memory_base 1 read_memory_byte 7 write_memory_base 1 write_memory_byte 32 "
         "read_register_base 1 read_register_byte 32 write_register_base 1 write_register_byte 32 "
         "keccak256_base 1 keccak256_byte 7"},
        {near_host_keccak512,
         "37866089a87abb5f434c127a920be16a75c29a9d30a05a9268d1767edee6c87d"
         "3049c5ec7badc0c55a99a7796458d1f08956ef295780dbf988cbdc6d2ea8eabe",
         "base 1 read_memory_base 1 read_memory_byte 7 write_memory_base 1 write_memory_byte 64 "
         "read_register_base 1 read_register_byte 64 write_register_base 1 write_register_byte 64 "
         "keccak512_base 1 keccak512_byte 7"},
        {near_host_ripemd160, "15669c73e8033ad72354811e8f56d46846610ee1",
         "base 1 read_memory_base 1 read_memory_byte 7 write_memory_base 1 write_memory_byte 20 "
         "read_register_base 1 read_register_byte 20 write_register_base 1 write_register_byte 20 "
         "ripemd160_base 1 ripemd160_block 1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct logic logic;
        struct logic_slice data;

        logic_open(&logic);
        logic_begin(&logic);
        data = logic_text(&logic, "tesdsst");
        assert_true(logic_call(&logic, cases[i].function,
                               (const uint64_t[LOGIC_ARGUMENTS]){data.length, data.at, 0}));
        logic_register_is_hex(&logic, 0, cases[i].hash);
        logic_costs_are(&logic, cases[i].costs);
        logic_close(&logic);
    }
}

static void test_hash256_register(void **state)
{
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic_begin(&logic);
    assert_true(near_register_set(&logic.call, 1, "tesdsst", 7));
    LOGIC_WORKS(&logic, sha256, UINT64_MAX, 1, 0);
    logic_register_is_hex(&logic, 0,
                          "12b0739c2d64f184b4864d2a696fc77f76705cff582b53937a371a242a9ca09e");
    logic_costs_are(&logic, "base 1 write_memory_base 1 write_memory_byte 32 read_register_base 2 "
                            "read_register_byte 39 write_register_base 2 write_register_byte 39 "
                            "sha256_base 1 sha256_byte 7");
    logic_close(&logic);
}

static void test_key_length_limit(void **state)
{
    enum { LIMIT = 1024 };
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic.parameters.max_length_storage_key = LIMIT;
    logic_begin(&logic);
    LOGIC_WORKS(&logic, storage_has_key, LIMIT, 0);
    LOGIC_WORKS(&logic, storage_write, LIMIT, 0, 5, 0, 0);
    LOGIC_WORKS(&logic, storage_read, LIMIT, 0, 0);
    LOGIC_WORKS(&logic, storage_remove, LIMIT, 0, 0);
    LOGIC_FAILS(&logic, "The length of a storage key 1025", storage_has_key, LIMIT + 1, 0);
    LOGIC_FAILS(&logic, "The length of a storage key 1025", storage_write, LIMIT + 1, 0, 5, 0, 0);
    LOGIC_FAILS(&logic, "The length of a storage key 1025", storage_read, LIMIT + 1, 0, 0);
    LOGIC_FAILS(&logic, "The length of a storage key 1025", storage_remove, LIMIT + 1, 0, 0);
    logic_close(&logic);
}

/* test_value_length_limit, test_return_value_limit, test_contract_size_limit */
static void lengths_are_limited(void **state)
{
    enum { LIMIT = 1024 };
    struct logic_slice key;
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic.parameters.max_length_storage_value = LIMIT;
    logic.parameters.max_length_returned_data = LIMIT;
    logic.parameters.max_contract_size = LIMIT;
    logic_begin(&logic);
    key = logic_text(&logic, "hello");
    LOGIC_WORKS(&logic, storage_write, key.length, key.at, LIMIT / 2, 0, 0);
    LOGIC_WORKS(&logic, storage_write, key.length, key.at, LIMIT, 0, 0);
    LOGIC_FAILS(&logic, "The length of a storage value 1025", storage_write, key.length, key.at,
                LIMIT + 1, 0, 0);
    LOGIC_WORKS(&logic, value_return, LIMIT, 0);
    LOGIC_FAILS(&logic, "The length of a returned value 1025", value_return, LIMIT + 1, 0);
    LOGIC_GIVES(&logic, 0, promise_batch_create, key.length, key.at);
    LOGIC_WORKS(&logic, promise_batch_action_deploy_contract, 0, LIMIT, 0);
    LOGIC_FAILS(&logic, "The size of a contract code in DeployContract action 1025",
                promise_batch_action_deploy_contract, 0, LIMIT + 1, 0);
    logic_close(&logic);
}

static void test_num_promises(void **state)
{
    enum { LIMIT = 10 };
    struct logic_slice account;
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic.parameters.max_promises_per_function_call_action = LIMIT;
    logic_begin(&logic);
    account = logic_text(&logic, "alice");
    for (unsigned i = 0; i < LIMIT; i++)
        LOGIC_GIVES(&logic, i, promise_batch_create, account.length, account.at);
    LOGIC_FAILS(&logic, "The number of promises within a FunctionCall 11", promise_batch_create,
                account.length, account.at);
    logic_close(&logic);
}

/* test_num_joined_promises, test_num_input_dependencies_recursive_join */
static void joined_promises_are_limited(void **state)
{
    enum { LIMIT = 64 };
    struct logic_slice account, indices;
    uint64_t numbers[LIMIT + 1] = {0};
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic.parameters.max_number_input_data_dependencies = LIMIT;
    logic_begin(&logic);
    account = logic_text(&logic, "alice");
    LOGIC_GIVES(&logic, 0, promise_batch_create, account.length, account.at);
    indices = logic_write(&logic, numbers, sizeof numbers);
    for (unsigned i = 0; i <= LIMIT; i += 8)
        LOGIC_WORKS(&logic, promise_and, indices.at, i);
    LOGIC_FAILS(&logic, "The number of input data dependencies 65", promise_and, indices.at,
                LIMIT + 1);
    /* A promise that joins the one before twice: 2, 4, .. 64 are waited for, then one more. */
    numbers[0] = numbers[1] = 0;
    for (unsigned i = 1; i < LIMIT; i *= 2) {
        const struct logic_slice two = logic_write(&logic, numbers, 16);

        LOGIC_WORKS(&logic, promise_and, two.at, 2);
        numbers[0] = numbers[1] = logic.result;
    }
    numbers[1] = 0;
    indices = logic_write(&logic, numbers, 16);
    LOGIC_FAILS(&logic, "The number of input data dependencies 65", promise_and, indices.at, 2);
    logic_close(&logic);
}

/* ---- registers.rs, commit 20ee8a10 ---- */

/* test_one_register, test_non_existent_register, test_many_registers, test_register_is_not_used */
static void registers_are_limited(void **state)
{
    struct logic logic;
    uint64_t most;

    (void)state;
    logic_open(&logic);
    logic_begin(&logic);
    LOGIC_GIVES(&logic, UINT64_MAX, register_len, 0);
    LOGIC_FAILS(&logic, "Accessed invalid register id: 0", read_register, 0, 0);
    assert_true(near_register_set(&logic.call, 0, "\0\1\2", 3));
    LOGIC_GIVES(&logic, 3, register_len, 0);
    logic_register_is(&logic, 0, "\0\1\2", 3);
    most = logic.parameters.max_number_registers;
    for (uint64_t i = 1; i < most; i++) {
        const uint64_t value = i * 10;

        assert_true(near_register_set(&logic.call, i, &value, sizeof value));
        logic_register_is(&logic, i, &value, sizeof value);
    }
    LOGIC_FAILS(&logic, "Accessed memory outside the bounds.", write_register, most, 0, 0);
    logic_close(&logic);
}

/* test_max_register_size, test_max_register_memory_limit, by a thousandth of the sizes */
static void the_memory_of_registers_is_limited(void **state)
{
    enum { MOST = 1000, REGISTERS = 10 };
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic.parameters.max_register_size = MOST;
    logic.parameters.registers_memory_limit = (uint64_t)(MOST + 8) * REGISTERS;
    logic_begin(&logic);
    LOGIC_FAILS(&logic, "Accessed memory outside the bounds.", write_register, 0, MOST + 1, 0);
    for (unsigned i = 0; i < REGISTERS; i++)
        LOGIC_WORKS(&logic, write_register, i, MOST, 0);
    LOGIC_FAILS(&logic, "Accessed memory outside the bounds.", write_register, REGISTERS, 0, 0);
    logic_close(&logic);
}

/* ---- context.rs, commit 0b63f1cf ---- */

static void bytes_of_the_context(void **state)
{
    static const uint8_t bytes[] = {0, 1, 2, 3, 4};
    static const struct {
        near_function *function;
        const void *bytes;
        size_t length;
        const char *costs;
    } cases[] = {
#define COSTS(length)                                                                              \
    "base 2 write_register_base 1 write_register_byte " length                                     \
    " read_register_base 1 read_register_byte " length                                             \
    " write_memory_base 1 write_memory_byte " length
        {near_host_current_account_id, "alice.near", 10, COSTS("10")},
        {near_host_signer_account_id, "bob.near", 8, COSTS("8")},
        {near_host_predecessor_account_id, "carol.near", 10, COSTS("10")},
        {near_host_refund_to_account_id, "david.near", 10, COSTS("10")},
        {near_host_signer_account_pk, bytes, 5, COSTS("5")},
        {near_host_random_seed, bytes, 3, COSTS("3")},
        /* Bytes that the chain holds anyway: see test_promise_result_per_byte_gas_fee. */
        {near_host_input, bytes, 5,
         "base 2 write_register_base 1 read_register_base 1 read_register_byte 5 "
         "write_memory_base 1 write_memory_byte 5"},
#undef COSTS
    };
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic_begin(&logic);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(logic_call(&logic, cases[i].function, (const uint64_t[LOGIC_ARGUMENTS]){0}));
        logic_register_is(&logic, 0, cases[i].bytes, cases[i].length);
        logic_costs_are(&logic, cases[i].costs);
    }
    logic_close(&logic);
}

static void numbers_of_the_context(void **state)
{
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic.context.storage_usage = 12;
    logic_begin(&logic);
    LOGIC_GIVES(&logic, 10, block_index, 0);
    LOGIC_GIVES(&logic, 42, block_timestamp, 0);
    LOGIC_GIVES(&logic, 1, epoch_height, 0);
    LOGIC_GIVES(&logic, 12, storage_usage, 0);
    LOGIC_GIVES(&logic, UINT64_C(100000000000000), prepaid_gas, 0);
    logic_costs_are(&logic, "base 5");
    LOGIC_GIVES(&logic, 6 * logic.parameters.cost[NEAR_COST_base], used_gas, 0);
    LOGIC_WORKS(&logic, account_balance, 0);
    LOGIC_WORKS(&logic, account_locked_balance, 16);
    LOGIC_WORKS(&logic, attached_deposit, 32);
    logic_costs_are(&logic, "base 4 write_memory_base 3 write_memory_byte 48");
    assert_int_equal(logic.memory.bytes[0], 110);
    assert_int_equal(logic.memory.bytes[16], 50);
    assert_int_equal(logic.memory.bytes[32], 10);
    logic_close(&logic);
}

/* There are no validators: rs_contract.rs's ext_validator_stake of an account that is not a
 * validator. */
static void validators_have_no_stake(void **state)
{
    struct logic_slice account;
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic_begin(&logic);
    account = logic_text(&logic, "carol");
    memset(logic.memory.bytes + 64, 1, 32);
    LOGIC_WORKS(&logic, validator_stake, account.length, account.at, 64);
    logic_costs_are(&logic, "base 1 read_memory_base 1 read_memory_byte 5 utf8_decoding_base 1 "
                            "utf8_decoding_byte 5 validator_stake_base 1 write_memory_base 1 "
                            "write_memory_byte 16");
    LOGIC_WORKS(&logic, validator_total_stake, 80);
    logic_costs_are(&logic,
                    "base 1 validator_total_stake_base 1 write_memory_base 1 write_memory_byte 16");
    for (unsigned i = 64; i < 96; i++)
        assert_int_equal(logic.memory.bytes[i], 0);
    logic_close(&logic);
}

/* ---- storage_usage.rs, commit 39a4f0de; storage_read_write.rs, commit 599d633a ---- */

static void storage_is_counted(void **state)
{
    enum { RECORD = 40 + 3 + 3 };
    struct logic_slice key, value;
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic_begin(&logic);
    key = logic_text(&logic, "foo");
    value = logic_text(&logic, "bar");
    LOGIC_GIVES(&logic, 0, storage_write, key.length, key.at, value.length, value.at, 0);
    logic_costs_are(&logic, "base 1 storage_write_base 1 storage_write_key_byte 3 "
                            "storage_write_value_byte 3 read_memory_base 2 read_memory_byte 6");
    LOGIC_GIVES(&logic, RECORD, storage_usage, 0);
    LOGIC_GIVES(&logic, 1, storage_write, key.length, key.at, value.length, value.at, 0);
    LOGIC_GIVES(&logic, RECORD, storage_usage, 0);
    logic_costs_are(&logic, "base 3 storage_write_base 1 storage_write_key_byte 3 "
                            "storage_write_value_byte 3 storage_write_evicted_byte 3 "
                            "read_memory_base 2 read_memory_byte 6 write_register_base 1 "
                            "write_register_byte 3");
    LOGIC_GIVES(&logic, 1, storage_remove, key.length, key.at, 0);
    logic_costs_are(&logic, "base 1 storage_remove_base 1 storage_remove_key_byte 3 "
                            "storage_remove_ret_value_byte 3 read_memory_base 1 read_memory_byte 3 "
                            "write_register_base 1 write_register_byte 3");
    LOGIC_GIVES(&logic, 0, storage_usage, 0);
    logic_close(&logic);
}

static void storage_by_registers(void **state)
{
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic_begin(&logic);
    assert_true(near_register_set(&logic.call, 1, "foo", 3));
    assert_true(near_register_set(&logic.call, 2, "bar", 3));
    LOGIC_GIVES(&logic, 0, storage_has_key, UINT64_MAX, 1);
    LOGIC_GIVES(&logic, 0, storage_write, UINT64_MAX, 1, UINT64_MAX, 2, 0);
    LOGIC_GIVES(&logic, 1, storage_has_key, UINT64_MAX, 1);
    LOGIC_GIVES(&logic, 1, storage_read, UINT64_MAX, 1, 0);
    logic_register_is(&logic, 0, "bar", 3);
    LOGIC_GIVES(&logic, 1, storage_remove, UINT64_MAX, 1, 3);
    logic_register_is(&logic, 3, "bar", 3);
    LOGIC_GIVES(&logic, 0, storage_read, UINT64_MAX, 1, 0);
    LOGIC_FAILS(&logic, "Attempted to call deprecated host function", storage_iter_prefix, 3, 0);
    LOGIC_FAILS(&logic, "Attempted to call deprecated host function", storage_iter_range, 0);
    LOGIC_FAILS(&logic, "Attempted to call deprecated host function", storage_iter_next, 0);
    logic_close(&logic);
}

/* ---- view_method.rs, commit 038eef90 ---- */

static void test_prohibited_view_methods(void **state)
{
    static const struct {
        near_function *function;
        const char *name;
    } refused[] = {
#define X(name) {near_host_##name, #name},
        X(signer_account_id) X(signer_account_pk) X(predecessor_account_id) X(prepaid_gas)
            X(used_gas) X(promise_create) X(promise_then) X(promise_and) X(promise_batch_create)
                X(promise_batch_then) X(promise_batch_action_create_account)
                    X(promise_batch_action_deploy_contract) X(promise_batch_action_function_call)
                        X(promise_batch_action_transfer) X(promise_batch_action_stake)
                            X(promise_batch_action_add_key_with_full_access)
                                X(promise_batch_action_add_key_with_function_call)
                                    X(promise_batch_action_delete_key)
                                        X(promise_batch_action_delete_account)
                                            X(promise_results_count) X(promise_result)
                                                X(promise_return) X(storage_write) X(storage_remove)
#undef X
    };
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic.context.is_view = true;
    logic_begin(&logic);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_false(logic_call(&logic, refused[i].function, (const uint64_t[LOGIC_ARGUMENTS]){0}));
        assert_non_null(strstr(logic.error_text, " is not allowed in view calls"));
    }
    LOGIC_GIVES(&logic, 10, block_index, 0);
    LOGIC_WORKS(&logic, attached_deposit, 0);
    logic_close(&logic);
}

/* ---- linking ---- */

/* Each function that nearcore has is linked; those that gaspipe lacks say so when they are called.
 */
static void missing_values_are_named(void **state)
{
    static const struct {
        const char *name;
        bool is_missing;
    } functions[] = {
#define X(name, ...) {#name, false},
        NEAR_CONTEXT_FUNCTIONS(X) NEAR_OTHER_FUNCTIONS(X) NEAR_PROMISE_FUNCTIONS(X)
#undef X
#define X(name, ...) {#name, true},
            NEAR_MISSING_FUNCTIONS(X)
#undef X
                {"promise", true},
        {"", true}};
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic_begin(&logic);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const struct wasm_import import = {
            .name = {(const uint8_t *)functions[i].name, (uint32_t)strlen(functions[i].name)}};
        const bool is_known = i + 2 < sizeof functions / sizeof *functions;
        uint64_t values[LOGIC_ARGUMENTS] = {0};
        struct wasm_extern given = {0};
        struct error error;

        assert_int_equal(near_host_resolve(&logic.call, NULL, &import, &given, &error),
                         is_known ? 0 : -1);
        if (!is_known || !functions[i].is_missing)
            continue;
        logic.call.error[0] = '\0';
        assert_int_equal(
            given.function.call(given.function.context, &logic.machine, &logic.instance, values),
            WASM_TRAP_HOST);
        assert_memory_equal(logic.call.error, "gaspipe has no ", 15);
        assert_string_equal(logic.call.error + 15, functions[i].name);
    }
    logic_close(&logic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes),
        cmocka_unit_test(test_hash256_register),
        cmocka_unit_test(test_key_length_limit),
        cmocka_unit_test(lengths_are_limited),
        cmocka_unit_test(test_num_promises),
        cmocka_unit_test(joined_promises_are_limited),
        cmocka_unit_test(registers_are_limited),
        cmocka_unit_test(the_memory_of_registers_is_limited),
        cmocka_unit_test(bytes_of_the_context),
        cmocka_unit_test(numbers_of_the_context),
        cmocka_unit_test(validators_have_no_stake),
        cmocka_unit_test(storage_is_counted),
        cmocka_unit_test(storage_by_registers),
        cmocka_unit_test(test_prohibited_view_methods),
        cmocka_unit_test(missing_values_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
