/* SPDX-License-Identifier: Apache-2.0 */
/* Promises that a contract yields and resumes: what nearcore's logic/tests/yield_resume.rs expects,
 * and what its logic.rs charges, in its order. */
#include "tests/unit/worker/near_logic.h"

enum { REGISTER = 0, CHOSEN = 32 };

static const char chosen[CHOSEN + 1] = "12345678123456781234567812345678";

static void yields_and_resumes_by_data(void **state)
{
    struct logic logic;
    struct logic_slice method, payload;

    (void)state;
    logic_open(&logic);
    logic_begin(&logic);
    method = logic_text(&logic, "callback");
    payload = logic_text(&logic, "payload");
    LOGIC_GIVES(&logic, 0, promise_yield_create, method.length, method.at, payload.length,
                payload.at, 5, 1, REGISTER);
    logic_costs_are(&logic, "base 1 yield_create_base 1 read_memory_base 2 read_memory_byte 15 "
                            "yield_create_byte 15 write_register_base 1 write_register_byte 32");
    assert_int_equal(logic.parameters.yield_timeout_length_in_blocks, 200);
    assert_int_equal(logic.call.receipts.receipts[0].expires, 10 + 200);
    LOGIC_GIVES(&logic, 1, promise_yield_resume, UINT64_MAX, REGISTER, payload.length, payload.at);
    logic_costs_are(&logic, "base 1 yield_resume_base 1 yield_resume_byte 7 read_register_base 1 "
                            "read_register_byte 32 read_memory_base 1 read_memory_byte 7");
    LOGIC_GIVES(&logic, 0, promise_yield_resume, CHOSEN, method.at, payload.length, payload.at);
    LOGIC_GIVES(&logic, 0, promise_yield_resume_with_yield_id, UINT64_MAX, REGISTER, 0, 0);
    assert_int_equal(logic.call.receipts.resumption_count, 1);
    logic_close(&logic);
}

static void yields_by_a_name_once(void **state)
{
    struct logic logic;
    struct logic_slice method, name;
    uint64_t amount, zero;

    (void)state;
    logic_open(&logic);
    logic_begin(&logic);
    method = logic_text(&logic, "callback");
    name = logic_text(&logic, chosen);
    amount = logic_amount(&logic, 2);
    zero = logic_amount(&logic, 0);
    LOGIC_GIVES(&logic, 0, promise_yield_create_with_id, method.length, method.at, 0, 0, amount, 5,
                1, name.length, name.at);
    logic_costs_are(&logic, "base 1 yield_create_with_id_base 1 read_memory_base 4 "
                            "read_memory_byte 56 yield_create_byte 8");
    assert_true(logic.call.balance == 108);
    LOGIC_GIVES(&logic, UINT64_MAX, promise_yield_create_with_id, method.length, method.at, 0, 0,
                amount, 5, 1, name.length, name.at);
    assert_true(logic.call.balance == 108);
    LOGIC_GIVES(&logic, 1, promise_yield_resume_with_yield_id, name.length, name.at, 0, 0);
    LOGIC_FAILS(&logic, "yield id is malformed", promise_yield_create_with_id, method.length,
                method.at, 0, 0, zero, 5, 1, 16, name.at);
    LOGIC_FAILS(&logic, "yield id is malformed", promise_yield_resume_with_yield_id, 16, name.at, 0,
                0);
    logic_close(&logic);
}

static void refuses_what_nearcore_refuses(void **state)
{
    struct logic logic;
    struct logic_slice name;

    (void)state;
    logic_open(&logic);
    logic_begin(&logic);
    name = logic_text(&logic, chosen);
    LOGIC_FAILS(&logic, "Tried to call an empty method name.", promise_yield_create, 0, 0, 0, 0, 5,
                1, REGISTER);
    LOGIC_FAILS(&logic, "yield resumption token is malformed", promise_yield_resume, 16, name.at, 0,
                0);
    assert_int_equal(logic.parameters.max_yield_payload_size, 1024);
    LOGIC_GIVES(&logic, 0, promise_yield_resume, name.length, name.at, 1024, 0);
    LOGIC_FAILS(&logic, "Yield resume payload is 1025 bytes which exceeds the 1024 byte limit",
                promise_yield_resume, name.length, name.at, 1025, 0);
    LOGIC_FAILS(&logic, "Integer overflow.", promise_yield_resume, name.length, name.at, UINT64_MAX,
                REGISTER);
    logic_close(&logic);
    logic_open(&logic);
    logic.context.is_view = true;
    logic_begin(&logic);
    LOGIC_FAILS(&logic, "promise_yield_create is not allowed in view calls", promise_yield_create,
                0, 0, 0, 0, 5, 1, REGISTER);
    LOGIC_FAILS(&logic, "promise_yield_resume is not allowed in view calls", promise_yield_resume,
                0, 0, 0, 0);
    logic_close(&logic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yields_and_resumes_by_data),
        cmocka_unit_test(yields_by_a_name_once),
        cmocka_unit_test(refuses_what_nearcore_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
