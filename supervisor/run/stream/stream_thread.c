/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/stream/stream_thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

void stream_thread_init(struct stream_thread *thread)
{
    pthread_condattr_t attributes;

    *thread = (struct stream_thread){0};
    /* None of these fails on Linux with these arguments. */
    (void)pthread_mutex_init(&thread->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&thread->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

int stream_thread_start(struct stream_thread *thread, void *(*run)(void *), void *context,
                        struct error *error)
{
    sigset_t all, before;
    int result;

    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail: the words are right */
    result = pthread_create(&thread->thread, NULL, run, context);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    thread->running = result == 0;
    return result == 0 ? 0 : error_system(error, result, "cannot start a thread");
}

void stream_thread_lock(struct stream_thread *thread)
{
    (void)pthread_mutex_lock(&thread->lock);
}

void stream_thread_unlock(struct stream_thread *thread)
{
    (void)pthread_mutex_unlock(&thread->lock);
}

void stream_thread_signal(struct stream_thread *thread)
{
    (void)pthread_cond_signal(&thread->changed);
}

void stream_thread_wait(struct stream_thread *thread)
{
    (void)pthread_cond_wait(&thread->changed, &thread->lock);
}

bool stream_thread_pause(struct stream_thread *thread, int milliseconds)
{
    struct timespec end;
    bool goes_on;

    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    end.tv_sec += milliseconds / 1000 + end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    stream_thread_lock(thread);
    while (!thread->stopping &&
           pthread_cond_timedwait(&thread->changed, &thread->lock, &end) != ETIMEDOUT)
        ;
    goes_on = !thread->stopping;
    stream_thread_unlock(thread);
    return goes_on;
}

void stream_thread_stop(struct stream_thread *thread)
{
    stream_thread_lock(thread);
    thread->stopping = true;
    stream_thread_signal(thread);
    stream_thread_unlock(thread);
}

void stream_thread_join(struct stream_thread *thread)
{
    if (thread->running)
        (void)pthread_join(thread->thread, NULL);
    thread->running = false;
}

void stream_thread_free(struct stream_thread *thread)
{
    (void)pthread_cond_destroy(&thread->changed);
    (void)pthread_mutex_destroy(&thread->lock);
}
