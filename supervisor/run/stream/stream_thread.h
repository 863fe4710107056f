/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_STREAM_STREAM_THREAD_H
#define GASPIPE_SUPERVISOR_RUN_STREAM_STREAM_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"

/* A thread that waits for NATS servers so that the event loop need not, and the lock of what both
 * use. It gets no signals. */
struct stream_thread {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool running;
    bool stopping; /* guarded by the lock */
};

void stream_thread_init(struct stream_thread *thread);

/* 0, or -1 with ERROR_SYSTEM. */
int stream_thread_start(struct stream_thread *thread, void *(*run)(void *), void *context,
                        struct error *error);

void stream_thread_lock(struct stream_thread *thread);
void stream_thread_unlock(struct stream_thread *thread);

/* With the lock: wakes the thread, or waits to be woken. */
void stream_thread_signal(struct stream_thread *thread);
void stream_thread_wait(struct stream_thread *thread);

/* From the thread: waits so long. False: it is stopping. */
bool stream_thread_pause(struct stream_thread *thread, int milliseconds);

/* Asks the thread to stop; then waits for its end. */
void stream_thread_stop(struct stream_thread *thread);
void stream_thread_join(struct stream_thread *thread);

/* After its end. */
void stream_thread_free(struct stream_thread *thread);

#endif
