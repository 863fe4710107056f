/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/vats/rules/vat_loss.h"

#define HOST    ERROR_SYSTEM
#define VAT     ERROR_DELIVERY
#define DIFFERS ERROR_INPUT

/* Each state with each blame, of a vat that is new and of one with a past. */
static const struct {
    enum vat_loss host[2], vat[2], differs[2];
} expected[VAT_STATES] = {
    [VAT_AWAY] = {{VAT_LOSS_NONE, VAT_LOSS_NONE},
                  {VAT_LOSS_NONE, VAT_LOSS_NONE},
                  {VAT_LOSS_NONE, VAT_LOSS_NONE}},
    [VAT_PREPARING] = {{VAT_LOSS_RETRY, VAT_LOSS_RETRY},
                       {VAT_LOSS_ENDS_VAT, VAT_LOSS_HOPELESS},
                       {VAT_LOSS_HOPELESS, VAT_LOSS_HOPELESS}},
    [VAT_STARTING] = {{VAT_LOSS_RETRY, VAT_LOSS_RETRY},
                      {VAT_LOSS_ENDS_VAT, VAT_LOSS_HOPELESS},
                      {VAT_LOSS_HOPELESS, VAT_LOSS_HOPELESS}},
    [VAT_LOADING] = {{VAT_LOSS_RETRY, VAT_LOSS_RETRY},
                     {VAT_LOSS_ENDS_VAT, VAT_LOSS_HOPELESS},
                     {VAT_LOSS_HOPELESS, VAT_LOSS_HOPELESS}},
    [VAT_REPLAYING] = {{VAT_LOSS_RETRY, VAT_LOSS_RETRY},
                       {VAT_LOSS_ENDS_VAT, VAT_LOSS_HOPELESS},
                       {VAT_LOSS_HOPELESS, VAT_LOSS_HOPELESS}},
    [VAT_IDLE] = {{VAT_LOSS_IDLE, VAT_LOSS_IDLE},
                  {VAT_LOSS_IDLE, VAT_LOSS_IDLE},
                  {VAT_LOSS_IDLE, VAT_LOSS_IDLE}},
    [VAT_DELIVERING] = {{VAT_LOSS_RETRY, VAT_LOSS_RETRY},
                        {VAT_LOSS_ENDS_VAT, VAT_LOSS_ENDS_VAT},
                        {VAT_LOSS_RETRY, VAT_LOSS_RETRY}},
    [VAT_STOPPING] = {{VAT_LOSS_RETRY, VAT_LOSS_RETRY},
                      {VAT_LOSS_ENDS_VAT, VAT_LOSS_ENDS_VAT},
                      {VAT_LOSS_RETRY, VAT_LOSS_RETRY}},
    [VAT_SAVING] = {{VAT_LOSS_RETRY, VAT_LOSS_RETRY},
                    {VAT_LOSS_RETRY, VAT_LOSS_RETRY},
                    {VAT_LOSS_RETRY, VAT_LOSS_RETRY}},
    [VAT_ENDING] = {{VAT_LOSS_NONE, VAT_LOSS_NONE},
                    {VAT_LOSS_NONE, VAT_LOSS_NONE},
                    {VAT_LOSS_NONE, VAT_LOSS_NONE}},
    [VAT_LEAVING] = {{VAT_LOSS_NONE, VAT_LOSS_NONE},
                     {VAT_LOSS_NONE, VAT_LOSS_NONE},
                     {VAT_LOSS_NONE, VAT_LOSS_NONE}},
};

static void each_state_with_each_blame(void **state)
{
    (void)state;
    for (enum vat_state before = 0; before < VAT_STATES; before++) {
        for (int past = 0; past < 2; past++) {
            assert_int_equal(vat_loss(before, HOST, past), expected[before].host[past]);
            assert_int_equal(vat_loss(before, VAT, past), expected[before].vat[past]);
            assert_int_equal(vat_loss(before, DIFFERS, past), expected[before].differs[past]);
        }
    }
}

/* The host's trouble never ends a vat, wherever it comes. */
static void what_ends_a_vat_is_its_own_doing(void **state)
{
    (void)state;
    for (enum vat_state before = 0; before < VAT_STATES; before++) {
        assert_int_not_equal(vat_loss(before, HOST, false), VAT_LOSS_ENDS_VAT);
        assert_int_not_equal(vat_loss(before, HOST, true), VAT_LOSS_ENDS_VAT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state_with_each_blame),
        cmocka_unit_test(what_ends_a_vat_is_its_own_doing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
