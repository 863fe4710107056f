/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/vats/vat_state.h"

/* Each state with each blame, of a vat that is new and of one with a past; where the host is to
 * blame, with each cause. */
static const struct {
    enum vat_loss host[2][VAT_CAUSE_NO_PROCESS + 1], vat[2], damaged[2];
} expected[VAT_STATES] = {
#define ALL(loss)                                                                                  \
    {                                                                                              \
        loss, loss, loss, loss, loss, loss                                                         \
    }
#define BY_CAUSE(own)                                                                              \
    {                                                                                              \
        VAT_LOSS_HOST, VAT_LOSS_ONCE, VAT_LOSS_SUSPECT, VAT_LOSS_ONCE, own, VAT_LOSS_HOST          \
    }
#define ALWAYS(loss)                                                                               \
    {                                                                                              \
        {ALL(loss), ALL(loss)}, {loss, loss}, {loss, loss},                                        \
    }
#define RESTORING                                                                                  \
    {                                                                                              \
        VAT_LOSS_SUSPECT, VAT_LOSS_ONCE, VAT_LOSS_SUSPECT, VAT_LOSS_ONCE, VAT_LOSS_SUSPECT,        \
            VAT_LOSS_HOST                                                                          \
    }
#define STARTING(fresh)                                                                            \
    {                                                                                              \
        {fresh, RESTORING}, {VAT_LOSS_ENDS_VAT, VAT_LOSS_HOPELESS},                                \
            {VAT_LOSS_HOPELESS, VAT_LOSS_HOPELESS},                                                \
    }
    [VAT_NO_WORKER] = ALWAYS(VAT_LOSS_NONE),
    [VAT_PREPARING] = STARTING(ALL(VAT_LOSS_HOST)),
    [VAT_STARTING] = STARTING(ALL(VAT_LOSS_HOST)),
    [VAT_LOADING] = STARTING(BY_CAUSE(VAT_LOSS_HOST)),
    [VAT_CATCHING_UP] = STARTING(ALL(VAT_LOSS_HOST)),
    [VAT_IDLE] = ALWAYS(VAT_LOSS_IDLE),
    [VAT_DELIVERING] = {{BY_CAUSE(VAT_LOSS_SUSPECT), BY_CAUSE(VAT_LOSS_SUSPECT)},
                        {VAT_LOSS_ENDS_VAT, VAT_LOSS_ENDS_VAT},
                        {VAT_LOSS_HOPELESS, VAT_LOSS_HOPELESS}},
    [VAT_STOPPING] = {{BY_CAUSE(VAT_LOSS_SUSPECT), BY_CAUSE(VAT_LOSS_SUSPECT)},
                      {VAT_LOSS_ENDS_VAT, VAT_LOSS_ENDS_VAT},
                      {VAT_LOSS_HOPELESS, VAT_LOSS_HOPELESS}},
#define SAVING                                                                                     \
    {                                                                                              \
        VAT_LOSS_SUSPECT, VAT_LOSS_ONCE, VAT_LOSS_SUSPECT, VAT_LOSS_ONCE, VAT_LOSS_SUSPECT,        \
            VAT_LOSS_SUSPECT                                                                       \
    }
    [VAT_SNAPSHOTTING] = {{SAVING, SAVING},
                          {VAT_LOSS_ONCE, VAT_LOSS_ONCE},
                          {VAT_LOSS_SUSPECT, VAT_LOSS_SUSPECT}},
    [VAT_ENDING] = ALWAYS(VAT_LOSS_NONE),
    [VAT_LEAVING] = ALWAYS(VAT_LOSS_NONE),
};

static enum vat_loss loss(enum vat_state before, enum error_kind blame, enum vat_cause cause,
                          bool has_past)
{
    return vat_loss(before, &(struct vat_reason){.blame = blame, .cause = cause}, has_past);
}

static void each_state_with_each_blame(void **state)
{
    (void)state;
    for (enum vat_state before = 0; before < VAT_STATES; before++) {
        for (int past = 0; past < 2; past++) {
            for (enum vat_cause cause = 0; cause <= VAT_CAUSE_NO_PROCESS; cause++)
                assert_int_equal(loss(before, ERROR_SYSTEM, cause, past),
                                 expected[before].host[past][cause]);
            assert_int_equal(loss(before, ERROR_DELIVERY, VAT_CAUSE_OTHER, past),
                             expected[before].vat[past]);
            assert_int_equal(loss(before, ERROR_INPUT, VAT_CAUSE_OTHER, past),
                             expected[before].damaged[past]);
        }
    }
}

/* A host failure never terminates a vat, in any state. */
static void only_its_own_failures_terminate_a_vat(void **state)
{
    (void)state;
    for (enum vat_state before = 0; before < VAT_STATES; before++) {
        for (enum vat_cause cause = 0; cause <= VAT_CAUSE_NO_PROCESS; cause++) {
            assert_int_not_equal(loss(before, ERROR_SYSTEM, cause, false), VAT_LOSS_ENDS_VAT);
            assert_int_not_equal(loss(before, ERROR_SYSTEM, cause, true), VAT_LOSS_ENDS_VAT);
        }
    }
}

/* No vat with a past stops the others, unless the host starts no process at all. */
static void failed_restore_is_the_vats_own_failure(void **state)
{
    static const enum vat_state states[] = {VAT_PREPARING, VAT_STARTING, VAT_LOADING,
                                            VAT_CATCHING_UP, VAT_SNAPSHOTTING};

    (void)state;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        for (enum vat_cause cause = 0; cause < VAT_CAUSE_NO_PROCESS; cause++) {
            assert_int_not_equal(loss(states[i], ERROR_SYSTEM, cause, true), VAT_LOSS_HOST);
            assert_int_not_equal(loss(states[i], ERROR_DELIVERY, cause, true), VAT_LOSS_HOST);
            assert_int_not_equal(loss(states[i], ERROR_INPUT, cause, true), VAT_LOSS_HOST);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state_with_each_blame),
        cmocka_unit_test(only_its_own_failures_terminate_a_vat),
        cmocka_unit_test(failed_restore_is_the_vats_own_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
