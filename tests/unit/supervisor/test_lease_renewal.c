/* SPDX-License-Identifier: Apache-2.0 */
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/fleet/lease_renewal.h"

static struct fleet_lease held;
static sem_t extended;
static unsigned extensions;

/* Posts each of the first three. */
static int extend(struct fleet_transport *transport, struct fleet_lease *lease, bool *lost,
                  struct error *error)
{
    (void)transport;
    assert_ptr_equal(lease, &held);
    *lost = false;
    if (extensions++ < 3)
        assert_int_equal(sem_post(&extended), 0);
    return error_set(error, ERROR_SYSTEM, "the server is away");
}

static const struct fleet_operations operations = {.extend = extend};

/* Also where it fails. */
static void a_lease_is_extended_again_and_again(void **state)
{
    struct fleet_transport transport = {.operations = &operations, .renewal_ms = 1};
    struct lease_renewal renewal;
    struct error error;

    (void)state;
    assert_int_equal(sem_init(&extended, 0, 0), 0);
    assert_int_equal(lease_renewal_begin(&renewal, &transport, &held, &error), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(sem_wait(&extended), 0);
    lease_renewal_end(&renewal);
    assert_int_equal(sem_destroy(&extended), 0);
}

/* It would be for an hour. */
static void finished_work_is_not_awaited(void **state)
{
    struct fleet_transport transport = {.operations = &operations, .renewal_ms = 3600 * 1000};
    struct lease_renewal renewal;
    struct error error;

    (void)state;
    extensions = 0;
    assert_int_equal(lease_renewal_begin(&renewal, &transport, &held, &error), 0);
    lease_renewal_end(&renewal);
    assert_int_equal(extensions, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_is_extended_again_and_again),
        cmocka_unit_test(finished_work_is_not_awaited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
