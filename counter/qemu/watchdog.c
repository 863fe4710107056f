/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/watchdog.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "counter/gasmark.h"
#include "counter/qemu/emulator/qemu_plugin_api.h"
#include "counter/qemu/reporter.h"

/*
 * No guest under QEMU executes more than about this many instructions in a
 * nanosecond, so a look is not needed before that time has gone by.
 */
#define INSTRUCTIONS_PER_NANOSECOND 4
#define SHORTEST_SLEEP_NS           1000000
#define LONGEST_SLEEP_NS            50000000

/* As in watchdog_begin(). */
static uint64_t (*instructions_left)(void);
static bool running;
static sem_t wanted;

_Noreturn void watchdog_over_limit(void)
{
    static const char words[] = "gasmark: instruction limit passed\n";

    reporter_over_limit();
    if (write(STDERR_FILENO, words, sizeof words - 1) < 0) {
        /* Nobody listens; the exit status says it as well. */
    }
    _exit(GASMARK_EXIT_LIMIT);
}

static void sleep_for(uint64_t instructions)
{
    uint64_t nanoseconds = instructions / INSTRUCTIONS_PER_NANOSECOND;
    struct timespec time = {0};

    if (nanoseconds < SHORTEST_SLEEP_NS)
        nanoseconds = SHORTEST_SLEEP_NS;
    if (nanoseconds > LONGEST_SLEEP_NS)
        nanoseconds = LONGEST_SLEEP_NS;
    time.tv_nsec = (long)nanoseconds;
    nanosleep(&time, NULL);
}

static void *watch(void *unused)
{
    (void)unused;
    for (;;) {
        uint64_t left = instructions_left();

        if (left == 0)
            watchdog_over_limit();
        if (left == UINT64_MAX)
            sem_wait(&wanted);
        else
            sleep_for(left);
    }
    return NULL;
}

/* Of `running`; held over a fork, since the child has only the thread that forks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take_watchdog_lock(void)
{
    pthread_mutex_lock(&lock);
}

static void leave_watchdog_lock(void)
{
    pthread_mutex_unlock(&lock);
}

/* A forked child has the region but not the thread. */
static void watchdog_in_child(void)
{
    running = false;
    leave_watchdog_lock();
    if (instructions_left() != UINT64_MAX)
        watchdog_wake();
}

static void start_thread(void)
{
    sigset_t all, before;
    pthread_t thread;

    /* QEMU's signal handlers may run on its own threads only. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, watch, NULL) == 0) {
        pthread_detach(thread);
        running = true;
    } else {
        qemu_plugin_outs("gascount: no thread for the instruction limit\n");
        abort();
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void watchdog_begin(uint64_t (*left)(void))
{
    instructions_left = left;
}

static void prepare(void)
{
    sem_init(&wanted, 0, 0);
    pthread_atfork(take_watchdog_lock, leave_watchdog_lock, watchdog_in_child);
}

void watchdog_wake(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, prepare);
    take_watchdog_lock();
    if (!running)
        start_thread();
    leave_watchdog_lock();
    sem_post(&wanted);
}
