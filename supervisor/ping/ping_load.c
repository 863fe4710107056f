/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/ping/ping_load.h"

#include <signal.h>
#include <stdbool.h>

static void *compute(void *argument)
{
    const atomic_bool *stop = argument;

    while (!atomic_load_explicit(stop, memory_order_relaxed))
        ;
    return NULL;
}

/* Signals are the main thread's, whose timers and waits they end. */
static int create_quiet(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    int result;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail: the words are right */
    result = pthread_create(thread, NULL, run, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

int ping_load_start(struct ping_load *load, size_t count, struct error *error)
{
    load->count = 0;
    load->stop = false;
    while (load->count < count) {
        int result = create_quiet(&load->threads[load->count], compute, &load->stop);

        if (result != 0)
            return error_system(error, result, "cannot start a thread for the load");
        load->count++;
    }
    return 0;
}

void ping_load_stop(struct ping_load *load)
{
    load->stop = true;
    for (size_t i = 0; i < load->count; i++)
        (void)pthread_join(load->threads[i], NULL); /* ours, and joined once */
    load->count = 0;
}
