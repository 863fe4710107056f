/* SPDX-License-Identifier: Apache-2.0 */
/* A contract of NEAR for tests: ask("ACCOUNT METHOD ARGUMENT") calls another account, and its
 * callback returns the result in brackets, or "failed". */
#include "examples/wasm/near.h"

enum { SIZE = 256 };

static const uint64_t gas = 10000000000000;

static char input_text[SIZE], answer[SIZE] = "[";

static uint64_t address(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

/* How many bytes there are before the next space, or the end. */
static uint64_t word_length(const char *word, uint64_t most)
{
    uint64_t length = 0;

    while (length < most && word[length] != ' ')
        length++;
    return length;
}

static uint64_t then_report(uint64_t promise)
{
    static const uint64_t no_amount[2];

    current_account_id(1);
    return promise_then(promise, NEAR_REGISTER, 1, 6, address("report"), 0, 0, address(no_amount),
                        gas);
}

NEAR_EXPORT(ask)
{
    static const uint64_t one[2] = {1, 0};
    uint64_t length, account, method;
    const char *method_at, *argument_at;

    input(0);
    length = register_len(0);
    read_register(0, address(input_text));
    account = word_length(input_text, length);
    method_at = input_text + account + 1;
    method = word_length(method_at, length - account - 1);
    argument_at = method_at + method + 1;
    promise_return(then_report(promise_create(account, address(input_text), method,
                                              address(method_at), length - account - method - 2,
                                              address(argument_at), address(one), gas)));
}

NEAR_EXPORT(report)
{
    uint64_t length;

    if (promise_result(0, 0) != 1) {
        value_return(8, address("\"failed\""));
        return;
    }
    length = register_len(0);
    read_register(0, address(answer + 1));
    answer[length + 1] = ']';
    value_return(length + 2, address(answer));
}

NEAR_EXPORT(echo)
{
    input(0);
    value_return(NEAR_REGISTER, 0);
}

/* Returns the caller; the test expects the asking vat. */
NEAR_EXPORT(caller)
{
    predecessor_account_id(0);
    value_return(NEAR_REGISTER, 0);
}

/* Squares a digit up to 3. */
NEAR_EXPORT(square)
{
    input(0);
    read_register(0, address(input_text));
    input_text[0] = (char)('0' + (input_text[0] - '0') * (input_text[0] - '0'));
    value_return(1, address(input_text));
}
