/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the cost of NEAR's promises and of running out of gas with the expectations of
 * nearcore's runtime/near-vm-runner/src/logic/tests: gas_counter.rs, commit 0274cd1d;
 * promises.rs, commit 02da3d8c; ed25519_verify.rs, commit 368c56d5; p256_verify.rs, commit
 * 9ab9dcf4. The fees there are RuntimeFeesConfig::test()'s (core/parameters/src/cost.rs, commit
 * 016c3ed1): gaspipe's protocol version 62 except for three.
 */
#include "tests/unit/worker/near_logic.h"

#define OUT_OF_GAS   "Exceeded the prepaid gas."
#define OUT_OF_LIMIT "Exceeded the maximum amount of gas allowed to burn per contract."

static void fees_open(struct logic *logic)
{
    struct near_parameters first;
    struct error error;

    logic_open(logic);
    assert_int_equal(near_parameters_read(&first, "62", &error), 0);
    memcpy(logic->parameters.fee, first.fee, sizeof first.fee);
    logic->parameters.fee[NEAR_FEE_deploy_contract_byte].execution = 6812999;
    logic->parameters.fee[NEAR_FEE_new_data_receipt_base] =
        (struct near_fee){4697339419375, 4697339419375, 4697339419375};
    logic->parameters.fee[NEAR_FEE_new_data_receipt_byte] =
        (struct near_fee){59357464, 59357464, 59357464};
}

static void write_key(struct logic *logic, struct logic_slice *key)
{
    static const uint8_t ed25519[33] = {0, 7, 7};

    *key = logic_write(logic, ed25519, sizeof ed25519);
}

/* ---- gas_counter.rs: out_of_gas_*; each of these begins a batch to the account ---- */

static bool begin_batch(struct logic *logic, const char *account)
{
    const struct logic_slice name = logic_text(logic, account);

    return LOGIC_CALL(logic, promise_batch_create, name.length, name.at);
}

static bool create_action_receipt(struct logic *logic)
{
    return begin_batch(logic, "rick.test");
}

static bool create_promise_dependency(struct logic *logic)
{
    struct logic_slice name;

    if (!begin_batch(logic, "rick.test"))
        return false;
    name = logic_text(logic, "rick.test");
    return LOGIC_CALL(logic, promise_batch_then, 0, name.length, name.at);
}

static bool value_return(struct logic *logic)
{
    const struct logic_slice value = logic_text(logic, "lorem ipsum");

    return LOGIC_CALL(logic, value_return, value.length, value.at);
}

static bool create_account(struct logic *logic)
{
    return begin_batch(logic, "rick.test") &&
           LOGIC_CALL(logic, promise_batch_action_create_account, 0);
}

static bool delete_account(struct logic *logic)
{
    struct logic_slice local_callee;

    if (!begin_batch(logic, "bob.test"))
        return false;
    local_callee = logic_text(logic, "alice.test");
    return LOGIC_CALL(logic, promise_batch_action_delete_account, 0, local_callee.length,
                      local_callee.at);
}

static bool deploy_contract(struct logic *logic)
{
    struct logic_slice code;

    if (!begin_batch(logic, "rick.test"))
        return false;
    code = logic_text(logic, "lorem ipsum with length 26");
    return LOGIC_CALL(logic, promise_batch_action_deploy_contract, 0, code.length, code.at);
}

static bool cross_contract_call(struct logic *logic)
{
    struct logic_slice name, arguments;

    if (!begin_batch(logic, "rick.test"))
        return false;
    name = logic_text(logic, "fn_with_len_14");
    arguments = logic_text(logic, "lorem ipsum with length 26");
    return LOGIC_CALL(logic, promise_batch_action_function_call, 0, name.length, name.at,
                      arguments.length, arguments.at, logic_amount(logic, 1), 1);
}

static bool cross_contract_call_gas_weight(struct logic *logic)
{
    struct logic_slice name, arguments;

    if (!begin_batch(logic, "rick.test"))
        return false;
    name = logic_text(logic, "fn_with_len_14");
    arguments = logic_text(logic, "lorem ipsum with length 26");
    return LOGIC_CALL(logic, promise_batch_action_function_call_weight, 0, name.length, name.at,
                      arguments.length, arguments.at, logic_amount(logic, 1), 1, 1);
}

static bool promise_transfer(struct logic *logic)
{
    return begin_batch(logic, "alice.test") &&
           LOGIC_CALL(logic, promise_batch_action_transfer, 0,
                      logic_amount(logic, (unsigned __int128)1 << 120));
}

static bool promise_stake(struct logic *logic)
{
    struct logic_slice key;

    if (!begin_batch(logic, "pool.test"))
        return false;
    write_key(logic, &key);
    return LOGIC_CALL(logic, promise_batch_action_stake, 0, logic_amount(logic, 1), key.length,
                      key.at);
}

static bool promise_full_access_key(struct logic *logic)
{
    struct logic_slice key;

    if (!begin_batch(logic, "alice.test"))
        return false;
    write_key(logic, &key);
    return LOGIC_CALL(logic, promise_batch_action_add_key_with_full_access, 0, key.length, key.at,
                      0);
}

static bool promise_function_key(struct logic *logic)
{
    struct logic_slice key, receiver, methods;

    if (!begin_batch(logic, "alice.test"))
        return false;
    write_key(logic, &key);
    receiver = logic_text(logic, "alice.test");
    methods = logic_text(logic, "foo,baz");
    return LOGIC_CALL(logic, promise_batch_action_add_key_with_function_call, 0, key.length, key.at,
                      0, logic_amount(logic, 1), receiver.length, receiver.at, methods.length,
                      methods.at);
}

static bool promise_delete_key(struct logic *logic)
{
    struct logic_slice key;

    if (!begin_batch(logic, "alice.test"))
        return false;
    write_key(logic, &key);
    return LOGIC_CALL(logic, promise_batch_action_delete_key, 0, key.length, key.at);
}

#define TERA UINT64_C(1000000000000)

/* A fee is paid `times` times; `burnt` when the gas attached runs out for its execution. */
static const struct exhaustion {
    enum near_fee_kind fee;
    uint64_t times;
    bool (*exercise)(struct logic *logic);
    uint64_t burnt;
} exhaustions[] = {
    {NEAR_FEE_new_action_receipt, 1, create_action_receipt, 8644846690},
    {NEAR_FEE_new_action_receipt, 2, create_promise_dependency, 9411968532130},
    {NEAR_FEE_new_data_receipt_base, 1, create_promise_dependency, 10 * TERA},
    {NEAR_FEE_new_data_receipt_byte, 11, value_return, 10 * TERA},
    {NEAR_FEE_create_account, 1, create_account, 116969114801},
    {NEAR_FEE_delete_account, 1, delete_account, 125349193370},
    {NEAR_FEE_deploy_contract_base, 1, deploy_contract, 119677812659},
    {NEAR_FEE_deploy_contract_byte, 26, deploy_contract, 304443562909},
    {NEAR_FEE_function_call_base, 1, cross_contract_call, 125011579049},
    {NEAR_FEE_function_call_base, 1, cross_contract_call_gas_weight, 125011579049},
    {NEAR_FEE_function_call_byte, 40, cross_contract_call, 2444873079439},
    {NEAR_FEE_function_call_byte, 40, cross_contract_call_gas_weight, 2444873079439},
    {NEAR_FEE_transfer, 1, promise_transfer, 119935181141},
    {NEAR_FEE_stake, 1, promise_stake, 122375106518},
    {NEAR_FEE_add_full_access_key, 1, promise_full_access_key, 119999803802},
    {NEAR_FEE_add_function_call_key_base, 1, promise_function_key, 133982421242},
    {NEAR_FEE_add_function_call_key_byte, 7, promise_function_key, 236200046312},
    {NEAR_FEE_delete_key, 1, promise_delete_key, 119999803802},
};

static void exhaust_with(const struct exhaustion *kind, struct near_fee fee, uint64_t limit,
                         const char *error, uint64_t burnt)
{
    static const char *const receivers[] = {"alice.test"};
    struct logic logic;

    fees_open(&logic);
    logic.parameters.max_gas_burnt = limit;
    logic.parameters.fee[kind->fee] = fee;
    logic.context.prepaid_gas = 10 * TERA;
    logic.context.receivers = receivers;
    logic.context.receiver_count = 1;
    logic_begin(&logic);
    assert_false(kind->exercise(&logic));
    if (strcmp(logic.error_text, error) != 0 || near_burnt(&logic.call) != burnt ||
        near_used(&logic.call) != 10 * TERA)
        fail_msg("%s: %s, %llu burnt, %llu used", near_fee_name(kind->fee), logic.error_text,
                 (unsigned long long)near_burnt(&logic.call),
                 (unsigned long long)near_used(&logic.call));
    logic_close(&logic);
}

static void out_of_gas_by_each_fee(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof exhaustions / sizeof *exhaustions; i++) {
        const struct exhaustion *kind = &exhaustions[i];
        const struct near_fee sent = {10 * TERA / kind->times + 1, 10 * TERA / kind->times + 10, 1};
        const struct near_fee executed = {1, 10, 10 * TERA / kind->times + 1};

        exhaust_with(kind, sent, 10 * TERA, OUT_OF_LIMIT, 10 * TERA);
        exhaust_with(kind, executed, 100 * TERA, OUT_OF_GAS, kind->burnt);
    }
}

/* ---- gas_counter.rs: the others ---- */

/* promise_create() as in helpers.rs. */
static bool promise_create(struct logic *logic, uint64_t gas)
{
    const struct logic_slice account = logic_text(logic, "rick.test"),
                             method = logic_text(logic, "promise_create"),
                             arguments = logic_text(logic, "args");

    return LOGIC_CALL(logic, promise_create, account.length, account.at, method.length, method.at,
                      arguments.length, arguments.at, logic_amount(logic, 0), gas);
}

/* promise_batch_action_function_call() as in helpers.rs; with a weight, its other form. */
static bool add_function_call(struct logic *logic, uint64_t promise, uint64_t gas)
{
    const struct logic_slice method = logic_text(logic, "promise_batch_action"),
                             arguments = logic_text(logic, "promise_batch_action_args");

    return LOGIC_CALL(logic, promise_batch_action_function_call, promise, method.length, method.at,
                      arguments.length, arguments.at, logic_amount(logic, 0), gas);
}

static void limits_open(struct logic *logic, uint64_t burnt_limit, uint64_t prepaid)
{
    fees_open(logic);
    logic->parameters.max_gas_burnt = burnt_limit;
    logic->context.prepaid_gas = prepaid;
    logic_begin(logic);
}

static void test_dont_burn_gas_when_exceeding_attached_gas_limit(void **state)
{
    struct logic logic;

    (void)state;
    limits_open(&logic, 200 * TERA, 100 * TERA);
    assert_true(promise_create(&logic, 0));
    assert_false(add_function_call(&logic, 0, 200 * TERA));
    assert_in_range(near_burnt(&logic.call), 1, 50 * TERA);
    assert_int_equal(near_used(&logic.call), 100 * TERA);
    logic_close(&logic);
}

/* Operations until the gas is gone, as the interpreter charges them. */
static void spin(struct logic *logic)
{
    logic->machine.left = -1;
    near_exhaust(&logic->call);
}

static void test_limit_wasm_gas_after_attaching_gas(void **state)
{
    struct logic logic;

    (void)state;
    limits_open(&logic, 200 * TERA, 100 * TERA);
    assert_true(promise_create(&logic, 0));
    assert_true(add_function_call(&logic, 0, 50 * TERA));
    assert_in_range(logic.machine.left, 1, 50 * TERA / logic.parameters.wasm_regular_op_cost);
    logic_close(&logic);
}

static void check_gas_of_spinning(uint64_t limit, uint64_t prepaid, uint64_t attached,
                                  uint64_t burnt, uint64_t least_used, uint64_t most_used)
{
    struct logic logic;

    limits_open(&logic, limit, prepaid);
    if (attached != 0)
        assert_true(promise_create(&logic, attached));
    spin(&logic);
    assert_in_range(near_burnt(&logic.call), burnt, burnt);
    assert_in_range(near_used(&logic.call), least_used, most_used);
    logic_close(&logic);
}

/* test_cant_burn_more_than_max_gas_burnt_gas, test_cant_burn_more_than_prepaid_gas,
 * test_hit_max_gas_burnt_limit. */
static void operations_burn_no_more_than_the_limit(void **state)
{
    (void)state;
    check_gas_of_spinning(100 * TERA, 200 * TERA, 0, 100 * TERA, 100 * TERA, 200 * TERA);
    check_gas_of_spinning(200 * TERA, 100 * TERA, 0, 100 * TERA, 100 * TERA, 100 * TERA);
    check_gas_of_spinning(100 * TERA, 300 * TERA, 50 * TERA, 100 * TERA, 150 * TERA, 300 * TERA);
}

/* nearcore's core/parameters/src/cost.rs: sending by the key's bytes, execution by those of its
 * record; and for each nonce a record of its own. */
static void gas_keys_cost_by_their_bytes(void **state)
{
    enum { KEY = 33, RECORD = 1 + 9 + 1 + KEY, VALUE = 27, INFORMATION = 18, NONCE = 2 + 8 };
    const uint64_t sent = UINT64_C(59357464), executed = UINT64_C(101435400);
    struct logic_slice key;
    struct logic logic;
    uint64_t reserved;

    (void)state;
    logic_open(&logic);
    logic_begin(&logic);
    assert_true(begin_batch(&logic, "rick.test"));
    write_key(&logic, &key);
    reserved = logic.call.promises_gas;
    LOGIC_WORKS(&logic, promise_batch_action_transfer_to_gas_key, 0, key.length, key.at,
                logic_amount(&logic, 1));
    assert_int_equal(logic.call.profile.fee[NEAR_FEE_gas_key_transfer_base], 115123062500);
    assert_int_equal(logic.call.profile.fee[NEAR_FEE_gas_key_byte], sent * KEY);
    assert_int_equal(logic.call.promises_gas - reserved,
                     235676644250 + executed * (RECORD + VALUE));
    reserved = logic.call.promises_gas;
    LOGIC_WORKS(&logic, promise_batch_action_add_gas_key_with_full_access, 0, key.length, key.at,
                3);
    assert_int_equal(logic.call.profile.fee[NEAR_FEE_gas_key_byte], sent * (KEY + INFORMATION));
    assert_int_equal(logic.call.promises_gas - reserved,
                     101765125000 + 3 * (64196736000 + executed * (RECORD + NONCE)));
    LOGIC_FAILS(&logic, "Integer overflow.", promise_batch_action_add_gas_key_with_full_access, 0,
                key.length, key.at, 65536);
    logic_close(&logic);
}

/* one_yocto_on_promise, from version 85. */
static void one_yocto_needs_no_balance(void **state)
{
    static const char *const lacks = "Exceeded the account balance.";
    struct logic logic;

    (void)state;
    for (unsigned version = 84; version <= 85; version++) {
        struct logic_slice method;
        char text[8];
        struct error error;

        logic_open(&logic);
        snprintf(text, sizeof text, "%u", version);
        assert_int_equal(near_parameters_read(&logic.parameters, text, &error), 0);
        logic.context.balance = logic.context.deposit = 0;
        logic_begin(&logic);
        assert_true(begin_batch(&logic, "rick.test"));
        method = logic_text(&logic, "method");
        if (version == 84)
            LOGIC_FAILS(&logic, lacks, promise_batch_action_function_call, 0, method.length,
                        method.at, 0, 0, logic_amount(&logic, 1), 1);
        else
            LOGIC_WORKS(&logic, promise_batch_action_function_call, 0, method.length, method.at, 0,
                        0, logic_amount(&logic, 1), 1);
        LOGIC_FAILS(&logic, lacks, promise_batch_action_function_call, 0, method.length, method.at,
                    0, 0, logic_amount(&logic, 2), 1);
        logic_close(&logic);
    }
}

/* Keys of ML-DSA-65 exist from version 85; their records have a hash from 87. */
static void post_quantum_keys(void **state)
{
    static const uint8_t ml_dsa[1953] = {2};
    const uint64_t executed = UINT64_C(101435400);
    struct logic logic;

    (void)state;
    for (unsigned version = 84; version <= 87; version++) {
        const uint64_t stored = version < 87 ? sizeof ml_dsa : 33;
        struct logic_slice key;
        char text[8];
        struct error error;
        uint64_t reserved;

        logic_open(&logic);
        snprintf(text, sizeof text, "%u", version);
        assert_int_equal(near_parameters_read(&logic.parameters, text, &error), 0);
        logic_begin(&logic);
        assert_true(begin_batch(&logic, "rick.test"));
        key = logic_write(&logic, ml_dsa, sizeof ml_dsa);
        if (version == 84)
            LOGIC_FAILS(&logic, "VM Logic provided an invalid public key",
                        promise_batch_action_add_key_with_full_access, 0, key.length, key.at, 0);
        else
            LOGIC_WORKS(&logic, promise_batch_action_add_key_with_full_access, 0, key.length,
                        key.at, 0);
        if (version > 84) {
            reserved = logic.call.promises_gas;
            LOGIC_WORKS(&logic, promise_batch_action_transfer_to_gas_key, 0, key.length, key.at,
                        logic_amount(&logic, 1));
            assert_int_equal(logic.call.promises_gas - reserved,
                             235676644250 + executed * (1 + 9 + 1 + stored + 27));
        }
        logic_close(&logic);
    }
}

static void views_have_a_limit_of_their_own(void **state)
{
    struct logic logic;

    (void)state;
    limits_open(&logic, 100 * TERA, 300 * TERA);
    logic.parameters.max_gas_burnt_view = 50 * TERA;
    logic.context.is_view = true;
    logic_begin(&logic);
    assert_int_equal(logic.call.burnt_limit, 50 * TERA);
    logic_close(&logic);
}

/* No weight, no gas. */
static void function_call_no_weight_refund(void **state)
{
    struct logic_slice method, arguments;
    struct logic logic;

    (void)state;
    limits_open(&logic, 100 * TERA, 100 * TERA);
    assert_true(begin_batch(&logic, "rick.test"));
    method = logic_text(&logic, "promise_batch_action");
    arguments = logic_text(&logic, "promise_batch_action_args");
    LOGIC_WORKS(&logic, promise_batch_action_function_call_weight, 0, method.length, method.at,
                arguments.length, arguments.at, logic_amount(&logic, 0), 1000, 0);
    assert_false(near_receipts_distribute(&logic.call.receipts, 1000));
    assert_in_range(near_used(&logic.call), 1, 100 * TERA - 1);
    logic_close(&logic);
}

/* Calls a method with a name of nearly the largest length, after other promises. */
static void call_a_long_name(struct logic *logic, const char *error, uint64_t used)
{
    struct logic_slice name;
    uint64_t length;

    assert_true(begin_batch(logic, "rick.test"));
    LOGIC_WORKS(logic, promise_batch_action_transfer, 0, logic_amount(logic, 100));
    name = logic_text(logic, "rick.test");
    LOGIC_GIVES(logic, 1, promise_batch_then, 0, name.length, name.at);
    length = (UINT64_MAX - near_used(&logic->call) - 1) /
             logic->parameters.cost[NEAR_COST_read_memory_byte];
    LOGIC_FAILS(logic, error, promise_batch_action_function_call, 1, length, 0, 0, 0,
                logic_amount(logic, 10), 10000);
    assert_int_equal(near_used(&logic->call), used);
}

/* test_overflowing_burn_gas_with_promises_gas, .._2: the second time, what came before has used
 * all gas that was prepaid. */
static void a_long_name_does_not_overflow(void **state)
{
    const uint64_t limit = 300 * TERA;
    struct logic logic;
    uint64_t least;

    (void)state;
    limits_open(&logic, limit, limit);
    assert_true(create_promise_dependency(&logic));
    LOGIC_WORKS(&logic, promise_batch_action_transfer, 0, logic_amount(&logic, 100));
    least = near_used(&logic.call);
    logic_close(&logic);

    limits_open(&logic, limit, limit);
    call_a_long_name(&logic, OUT_OF_LIMIT, limit);
    logic_close(&logic);
    limits_open(&logic, limit, least);
    call_a_long_name(&logic, OUT_OF_GAS, least);
    logic_close(&logic);
}

/* ---- promises.rs ---- */

static void test_promise_results(void **state)
{
    static const struct near_promise_result results[] = {{.bytes = {(const uint8_t *)"test", 4}},
                                                         {.is_failed = true}};
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic.context.results = results;
    logic.context.result_count = 2;
    logic_begin(&logic);
    LOGIC_GIVES(&logic, 2, promise_results_count, 0);
    LOGIC_GIVES(&logic, 1, promise_result, 0, 0);
    LOGIC_GIVES(&logic, 2, promise_result, 1, 0);
    LOGIC_FAILS(&logic, "Accessed invalid promise result index: 2", promise_result, 2, 0);
    logic_register_is(&logic, 0, "test", 4);
    logic_close(&logic);
}

/* Once with DeterministicAccountIds, once without. */
static void test_promise_result_per_byte_gas_fee(void **state)
{
    static const uint8_t zeros[100];
    const struct near_promise_result result = {.bytes = {zeros, sizeof zeros}};
    struct logic logic;

    (void)state;
    for (unsigned is_newer = 0; is_newer < 2; is_newer++) {
        logic_open(&logic);
        logic.parameters.deterministic_account_ids = is_newer;
        logic.context.results = &result;
        logic.context.result_count = 1;
        logic_begin(&logic);
        LOGIC_GIVES(&logic, 1, promise_result, 0, 0);
        logic_costs_are(&logic, is_newer ? "base 1 write_register_base 1"
                                         : "base 1 write_register_base 1 write_register_byte 100");
        logic_close(&logic);
    }
}

/* promise_create, an action to a promise that is not there, to one that is no receipt, and to
 * the receipt: used gas by its numbers. */
typedef bool add_action(struct logic *logic, uint64_t promise, struct logic_slice first,
                        struct logic_slice second);

static bool add_create_account(struct logic *logic, uint64_t promise, struct logic_slice first,
                               struct logic_slice second)
{
    (void)first;
    (void)second;
    return LOGIC_CALL(logic, promise_batch_action_create_account, promise);
}

static bool add_deploy_contract(struct logic *logic, uint64_t promise, struct logic_slice code,
                                struct logic_slice second)
{
    (void)second;
    return LOGIC_CALL(logic, promise_batch_action_deploy_contract, promise, code.length, code.at);
}

static bool add_stake(struct logic *logic, uint64_t promise, struct logic_slice key,
                      struct logic_slice amount)
{
    return LOGIC_CALL(logic, promise_batch_action_stake, promise, amount.at, key.length, key.at);
}

static bool add_key_with_function_call(struct logic *logic, uint64_t promise,
                                       struct logic_slice key, struct logic_slice amount)
{
    const struct logic_slice receiver = logic_text(logic, "sam"),
                             methods = logic_text(logic, "foo,bar");

    return LOGIC_CALL(logic, promise_batch_action_add_key_with_function_call, promise, key.length,
                      key.at, 1, amount.at, receiver.length, receiver.at, methods.length,
                      methods.at);
}

static bool add_transfer(struct logic *logic, uint64_t promise, struct logic_slice key,
                         struct logic_slice amount)
{
    (void)key;
    return LOGIC_CALL(logic, promise_batch_action_transfer, promise, amount.at);
}

static void used_by(add_action *add, const char *code, uint64_t used)
{
    const unsigned __int128 amount = 110;
    struct logic_slice first, second;
    struct logic logic;
    uint64_t index = 0;

    fees_open(&logic);
    logic_begin(&logic);
    assert_true(promise_create(&logic, 0));
    index = logic_write(&logic, &index, sizeof index).at;
    if (code != NULL)
        first = logic_text(&logic, code);
    else
        write_key(&logic, &first);
    second = logic_write(&logic, &amount, sizeof amount);
    assert_false(add(&logic, 123, first, second));
    LOGIC_GIVES(&logic, 1, promise_and, index, 1);
    assert_false(add(&logic, 1, first, second));
    assert_true(add(&logic, 0, first, second));
    if (add == add_transfer) /* and once more, for which there is no money */
        assert_false(add(&logic, 0, first, second));
    LOGIC_GIVES(&logic, used, used_gas, 0);
    logic_close(&logic);
}

/* test_promise_batch_action_*: create_account, deploy_contract, transfer, stake,
 * add_key_with_function_call */
static void actions_use_their_gas(void **state)
{
    (void)state;
    used_by(add_create_account, NULL, 12578263688564);
    used_by(add_deploy_contract, "sample", 5255774958146);
    used_by(add_transfer, NULL, 5349703444787);
    used_by(add_stake, NULL, 5138414976215);
    used_by(add_key_with_function_call, NULL, 5126680499695);
}

static void test_promise_batch_then(void **state)
{
    struct logic logic;
    struct logic_slice account;
    uint64_t index = 0;

    (void)state;
    fees_open(&logic);
    logic_begin(&logic);
    assert_true(promise_create(&logic, 0));
    account = logic_text(&logic, "rick.test");
    index = logic_write(&logic, &index, sizeof index).at;
    assert_false(LOGIC_CALL(&logic, promise_batch_then, 123, account.length, account.at));
    LOGIC_GIVES(&logic, 1, promise_and, index, 1);
    LOGIC_WORKS(&logic, promise_batch_then, 1, account.length, account.at);
    LOGIC_WORKS(&logic, promise_batch_then, 0, account.length, account.at);
    LOGIC_GIVES(&logic, 24124999601771, used_gas, 0);
    logic_close(&logic);
}

/* promise_then and promise_return also charge sums of the costs tested above. */
static void then_and_return(void **state)
{
    struct logic_slice account, method;
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic_begin(&logic);
    account = logic_text(&logic, "rick.test");
    method = logic_text(&logic, "back");
    LOGIC_GIVES(&logic, 0, promise_batch_create, account.length, account.at);
    logic_costs_are(&logic, "base 1 read_memory_base 1 read_memory_byte 9 utf8_decoding_base 1 "
                            "utf8_decoding_byte 9");
    LOGIC_GIVES(&logic, 1, promise_then, 0, account.length, account.at, method.length, method.at, 0,
                0, logic_amount(&logic, 0), TERA);
    logic_costs_are(&logic, "base 2 read_memory_base 4 read_memory_byte 29 utf8_decoding_base 1 "
                            "utf8_decoding_byte 9");
    LOGIC_WORKS(&logic, promise_return, 1);
    logic_costs_are(&logic, "base 1 promise_return 1");
    assert_int_equal(logic.call.returned_receipt, 1);
    logic_close(&logic);
}

/* ---- ed25519_verify.rs, p256_verify.rs: each argument in memory or in a register ---- */

struct judged {
    const uint8_t *bytes;
    size_t length;
    bool in_register;
};

static void put_argument(struct logic *logic, uint64_t id, struct judged argument, uint64_t *a)
{
    struct logic_slice slice;

    if (argument.in_register) {
        assert_true(near_register_set(&logic->call, id, argument.bytes, argument.length));
        a[0] = UINT64_MAX;
        a[1] = id;
        return;
    }
    slice = logic_write(logic, argument.bytes, argument.length);
    a[0] = slice.length;
    a[1] = slice.at;
}

/* `error`: NULL when the host function answers `valid`. */
static void judge(near_function *verify, const struct judged arguments[3], bool valid,
                  const char *error, const char *costs)
{
    uint64_t a[LOGIC_ARGUMENTS] = {0};
    struct logic logic;

    logic_open(&logic);
    logic_begin(&logic);
    for (unsigned i = 0; i < 3; i++)
        put_argument(&logic, i + 1, arguments[i], &a[2 * i]);
    assert_int_equal(logic_call(&logic, verify, a), error == NULL);
    if (error == NULL)
        assert_int_equal(logic.result, valid);
    else
        assert_non_null(strstr(logic.error_text, error));
    logic_costs_are(&logic, costs);
    logic_close(&logic);
}

static const uint8_t signature[64] = {
    145, 193, 203, 18,  114, 227, 14,  117, 33,  213, 121, 66,  130, 14,  25,  4,
    36,  120, 46,  142, 226, 215, 7,   66,  122, 112, 97,  30,  249, 135, 61,  165,
    221, 249, 252, 23,  105, 40,  56,  70,  31,  152, 236, 141, 154, 122, 207, 20,
    75,  118, 79,  90,  168, 6,   221, 122, 213, 29,  126, 196, 216, 104, 191, 6};
static const uint8_t key[32] = {32,  122, 6,   120, 146, 130, 30,  37,  215, 112, 241,
                                251, 160, 196, 124, 17,  255, 75,  129, 62,  84,  22,
                                46,  206, 158, 184, 57,  224, 118, 35,  26,  182};
static const uint8_t message[32] = "kajdlfkjalkfjaklfjdkladjfkljadsk";

static void ed25519_charges(void **state)
{
    const struct judged good[] = {{signature, 64, false}, {message, 32, false}, {key, 32, false}};
    const struct judged by_registers[] = {
        {signature, 64, true}, {message, 32, true}, {key, 32, true}};
    const struct judged short_key[] = {
        {signature, 64, false}, {message, 32, false}, {key, 31, false}};
    const struct judged no_message[] = {
        {signature, 64, false}, {message, 0, false}, {key, 32, false}};
    const struct judged short_signature[] = {
        {signature, 63, false}, {message, 32, false}, {key, 32, false}};
    uint8_t forged_bytes[64];
    const struct judged forged[] = {
        {forged_bytes, 64, false}, {message, 32, false}, {key, 32, false}};

    (void)state;
    memcpy(forged_bytes, signature, sizeof forged_bytes);
    forged_bytes[63] = 0xe1;
    judge(near_host_ed25519_verify, good, true, NULL,
          "read_memory_byte 128 read_memory_base 3 ed25519_verify_base 1 ed25519_verify_byte 32");
    judge(near_host_ed25519_verify, by_registers, true, NULL,
          "write_register_base 3 write_register_byte 128 read_register_base 3 "
          "read_register_byte 128 ed25519_verify_base 1 ed25519_verify_byte 32");
    judge(near_host_ed25519_verify, short_key, false, "invalid public key length",
          "read_memory_byte 127 read_memory_base 3 ed25519_verify_base 1 ed25519_verify_byte 32");
    judge(near_host_ed25519_verify, no_message, false, NULL,
          "read_memory_byte 96 read_memory_base 3 ed25519_verify_base 1");
    judge(near_host_ed25519_verify, short_signature, false, "invalid signature length",
          "read_memory_byte 63 read_memory_base 1 ed25519_verify_base 1");
    judge(near_host_ed25519_verify, forged, false, NULL,
          "read_memory_byte 64 read_memory_base 1 ed25519_verify_base 1");
}

/* The signature is wrong for the message; what is right is in test_near_signatures.c. */
static void p256_charges(void **state)
{
    static const uint8_t ones[64] = {[31] = 1, [63] = 1}, zeros[64];
    const struct judged wrong[] = {{ones, 64, false}, {message, 32, false}, {zeros, 33, false}};
    const struct judged by_registers[] = {{ones, 64, true}, {message, 32, true}, {zeros, 33, true}};
    const struct judged no_numbers[] = {
        {zeros, 64, false}, {message, 32, false}, {zeros, 33, false}};
    const struct judged short_signature[] = {
        {ones, 63, false}, {message, 32, false}, {zeros, 33, false}};
    const struct judged short_key[] = {{ones, 64, false}, {message, 32, false}, {zeros, 32, false}};
    const struct judged no_message[] = {{ones, 64, false}, {message, 0, false}, {zeros, 33, false}};

    (void)state;
    judge(near_host_p256_verify, wrong, false, NULL,
          "read_memory_byte 129 read_memory_base 3 p256_verify_base 1 p256_verify_byte 32");
    judge(near_host_p256_verify, by_registers, false, NULL,
          "write_register_base 3 write_register_byte 129 read_register_base 3 "
          "read_register_byte 129 p256_verify_base 1 p256_verify_byte 32");
    judge(near_host_p256_verify, no_numbers, false, NULL,
          "read_memory_byte 64 read_memory_base 1 p256_verify_base 1");
    judge(near_host_p256_verify, short_signature, false, "invalid signature length",
          "read_memory_byte 63 read_memory_base 1 p256_verify_base 1");
    judge(near_host_p256_verify, short_key, false, "invalid public key length",
          "read_memory_byte 128 read_memory_base 3 p256_verify_base 1 p256_verify_byte 32");
    judge(near_host_p256_verify, no_message, false, NULL,
          "read_memory_byte 97 read_memory_base 3 p256_verify_base 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_of_gas_by_each_fee),
        cmocka_unit_test(test_dont_burn_gas_when_exceeding_attached_gas_limit),
        cmocka_unit_test(test_limit_wasm_gas_after_attaching_gas),
        cmocka_unit_test(operations_burn_no_more_than_the_limit),
        cmocka_unit_test(gas_keys_cost_by_their_bytes),
        cmocka_unit_test(one_yocto_needs_no_balance),
        cmocka_unit_test(post_quantum_keys),
        cmocka_unit_test(views_have_a_limit_of_their_own),
        cmocka_unit_test(function_call_no_weight_refund),
        cmocka_unit_test(a_long_name_does_not_overflow),
        cmocka_unit_test(test_promise_results),
        cmocka_unit_test(test_promise_result_per_byte_gas_fee),
        cmocka_unit_test(actions_use_their_gas),
        cmocka_unit_test(test_promise_batch_then),
        cmocka_unit_test(then_and_return),
        cmocka_unit_test(ed25519_charges),
        cmocka_unit_test(p256_charges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
