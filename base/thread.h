/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_THREAD_H
#define GASPIPE_BASE_THREAD_H

#include <pthread.h>

/*
 * Starts a thread that receives no signals: they are for the thread that has the event loop, whose
 * waits they end. 0 or an errno; the caller joins the thread.
 */
int thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);

#endif
