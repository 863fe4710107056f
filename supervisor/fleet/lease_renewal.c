/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/lease_renewal.h"

#include <time.h>

#include "base/thread.h"

/* When the next one is due. */
static struct timespec lease_renewal_next(const struct fleet_transport *transport)
{
    enum { THOUSAND = 1000, MILLION = 1000 * 1000, BILLION = 1000 * 1000 * 1000 };
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time); /* cannot fail */
    time.tv_sec += (time_t)(transport->renewal_ms / THOUSAND);
    time.tv_nsec += (long)(transport->renewal_ms % THOUSAND) * MILLION;
    if (time.tv_nsec >= BILLION) {
        time.tv_sec++;
        time.tv_nsec -= BILLION;
    }
    return time;
}

/* Until the next one is due, or it ends. */
static bool lease_renewal_wait(struct lease_renewal *renewal)
{
    const struct timespec next = lease_renewal_next(renewal->transport);
    int waited = 0;
    bool ends;

    (void)pthread_mutex_lock(&renewal->mutex);
    while (!renewal->ends && waited == 0)
        waited = pthread_cond_timedwait(&renewal->wake, &renewal->mutex, &next);
    ends = renewal->ends;
    (void)pthread_mutex_unlock(&renewal->mutex);
    return !ends;
}

static void *run_renewals(void *argument)
{
    struct lease_renewal *renewal = argument;
    struct error ignored;
    bool lost;

    while (lease_renewal_wait(renewal))
        (void)renewal->transport->operations->extend(renewal->transport, renewal->lease, &lost,
                                                     &ignored);
    return NULL;
}

int lease_renewal_begin(struct lease_renewal *renewal, struct fleet_transport *transport,
                        struct fleet_lease *lease, struct error *error)
{
    pthread_condattr_t attributes;
    int result;

    *renewal = (struct lease_renewal){.transport = transport, .lease = lease};
    (void)pthread_condattr_init(&attributes); /* nothing of this fails on Linux */
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&renewal->wake, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)pthread_mutex_init(&renewal->mutex, NULL);
    result = thread_start(&renewal->thread, run_renewals, renewal);
    if (result == 0)
        return 0;
    (void)pthread_cond_destroy(&renewal->wake);
    (void)pthread_mutex_destroy(&renewal->mutex);
    return error_system(error, result, "cannot start a thread");
}

void lease_renewal_end(struct lease_renewal *renewal)
{
    (void)pthread_mutex_lock(&renewal->mutex);
    renewal->ends = true;
    (void)pthread_cond_signal(&renewal->wake);
    (void)pthread_mutex_unlock(&renewal->mutex);
    (void)pthread_join(renewal->thread, NULL); /* cannot fail: it was started, and is joined once */
    (void)pthread_cond_destroy(&renewal->wake);
    (void)pthread_mutex_destroy(&renewal->mutex);
}
