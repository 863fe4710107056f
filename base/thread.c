/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <signal.h>

int thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument)
{
    sigset_t all, before;
    int result;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail with these arguments */
    result = pthread_create(thread, NULL, run, argument);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}
