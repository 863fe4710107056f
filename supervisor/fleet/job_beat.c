/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/job_beat.h"

#include <signal.h>
#include <time.h>

/* When the next one is due. */
static struct timespec job_beat_next(const struct fleet_transport *transport)
{
    enum { THOUSAND = 1000, MILLION = 1000 * 1000, BILLION = 1000 * 1000 * 1000 };
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time); /* cannot fail */
    time.tv_sec += (time_t)(transport->beat_ms / THOUSAND);
    time.tv_nsec += (long)(transport->beat_ms % THOUSAND) * MILLION;
    if (time.tv_nsec >= BILLION) {
        time.tv_sec++;
        time.tv_nsec -= BILLION;
    }
    return time;
}

/* Until the next one is due, or it ends. */
static bool job_beat_wait(struct job_beat *beat)
{
    const struct timespec next = job_beat_next(beat->transport);
    int waited = 0;
    bool ends;

    (void)pthread_mutex_lock(&beat->mutex);
    while (!beat->ends && waited == 0)
        waited = pthread_cond_timedwait(&beat->wake, &beat->mutex, &next);
    ends = beat->ends;
    (void)pthread_mutex_unlock(&beat->mutex);
    return !ends;
}

static void *run_beat(void *argument)
{
    struct job_beat *beat = argument;
    struct error ignored;
    bool lost;

    while (job_beat_wait(beat))
        (void)beat->transport->operations->extend(beat->transport, beat->lease, &lost, &ignored);
    return NULL;
}

/* Signals are for the thread that waits for them. */
static int start_quietly(struct job_beat *beat)
{
    sigset_t all, before;
    int result;

    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail: the words are right */
    result = pthread_create(&beat->thread, NULL, run_beat, beat);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

int job_beat_begin(struct job_beat *beat, struct fleet_transport *transport,
                   struct fleet_lease *lease, struct error *error)
{
    pthread_condattr_t attributes;
    int result;

    *beat = (struct job_beat){.transport = transport, .lease = lease};
    (void)pthread_condattr_init(&attributes); /* nothing of this fails on Linux */
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&beat->wake, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)pthread_mutex_init(&beat->mutex, NULL);
    result = start_quietly(beat);
    if (result == 0)
        return 0;
    (void)pthread_cond_destroy(&beat->wake);
    (void)pthread_mutex_destroy(&beat->mutex);
    return error_system(error, result, "cannot start a thread");
}

void job_beat_end(struct job_beat *beat)
{
    (void)pthread_mutex_lock(&beat->mutex);
    beat->ends = true;
    (void)pthread_cond_signal(&beat->wake);
    (void)pthread_mutex_unlock(&beat->mutex);
    (void)pthread_join(beat->thread, NULL); /* it was started, and nobody else does */
    (void)pthread_cond_destroy(&beat->wake);
    (void)pthread_mutex_destroy(&beat->mutex);
}
