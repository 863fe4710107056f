/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "gas/gas_model.h"

static const struct gas_usage nothing_known = {NAN, NAN, NAN, NAN, NAN, NAN};

static void test_parts_add_up_and_are_rounded_up_once(void **state)
{
    const struct gas_model model = {.computron = 0.25, .syscall = 100, .instruction = 0.001};
    const struct gas_usage usage = {
        .computrons = 1001, .instructions = 10, .syscalls = 3, .bytes_read = NAN};

    (void)state;
    /* 250.25 + 0.01 + 300 */
    assert_true(gas_model_price_delivery(&model, &usage) == 551);
}

static void test_only_what_costs_something_must_be_known(void **state)
{
    const struct gas_model free_of_charge = {0}, instructions = {.instruction = 1};
    struct gas_usage usage = nothing_known;

    (void)state;
    assert_true(gas_model_price_delivery(&free_of_charge, &usage) == 0);
    assert_true(isnan(gas_model_price_delivery(&instructions, &usage)));
    usage.instructions = 7;
    assert_true(gas_model_price_delivery(&instructions, &usage) == 7);
}

/* Returns gas_model_read()'s error for a file with this text; "" without one. */
static struct error read_text(const char *text, struct gas_model *model)
{
    char path[] = "/tmp/test_gas_model.XXXXXX";
    int fd = mkstemp(path);
    struct error error = {0};

    assert_true(fd >= 0);
    assert_true(dprintf(fd, "%s", text) >= 0);
    close(fd);
    if (gas_model_read(model, path, &error) == 0)
        error.kind = ERROR_NONE;
    unlink(path);
    return error;
}

static void test_a_model_weighs_computrons(void **state)
{
    struct gas_model model;

    (void)state;
    assert_int_equal(read_text("{\"computron\":2.5,\"name\":\"x\"}", &model).kind, ERROR_NONE);
    assert_true(model.computron == 2.5 && model.instruction == 0);
    assert_int_equal(read_text("{\"computron\":-1}", &model).kind, ERROR_INPUT);
    assert_int_equal(read_text("{\"computrons\":1}", &model).kind, ERROR_INPUT);
    assert_int_equal(read_text("[1]", &model).kind, ERROR_INPUT);
    assert_int_equal(read_text("", &model).kind, ERROR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_add_up_and_are_rounded_up_once),
        cmocka_unit_test(test_only_what_costs_something_must_be_known),
        cmocka_unit_test(test_a_model_weighs_computrons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
