/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "meter/runtime/state.h"

/* The limit of a bank's value, so that no sum of banks overflows. */
#define SHARE_MAX (INT64_C(1) << 55)

_Thread_local int64_t gasmeter_banks[GASMETER_BANKS] __attribute__((aligned(64)));
_Thread_local uint64_t gasmeter_carry;
_Thread_local struct thread_count thread_count;

static struct thread_count *threads;
static unsigned thread_total;
static uint64_t ended; /* units of ended threads */
static uint64_t process_limit = GASMETER_UNLIMITED;
/* Called when a budget is spent, unless the thread set its own function. */
static void (*end_process)(void) = abort;
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static uint64_t sum_of_banks(const struct thread_count *count, const int64_t *banks)
{
    uint64_t sum = count->counted;

    for (int i = 0; i < GASMETER_BANKS; i++)
        sum += (uint64_t)(banks[i] - count->share);
    return sum;
}

uint64_t count_of_thread(void)
{
    return sum_of_banks(&thread_count, gasmeter_banks);
}

/* ---- threads ---------------------------------------------------------------- */

/* Blocks signals too: a handler may flush, and must not wait for a lock that its own thread
 * holds. */
static void lock_threads(sigset_t *before)
{
    sigset_t all;

    memset(&all, 0xff, sizeof all);
    pthread_sigmask(SIG_BLOCK, &all, before);
    pthread_mutex_lock(&threads_lock);
}

static void unlock_threads(const sigset_t *before)
{
    pthread_mutex_unlock(&threads_lock);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* The threads library calls this in each round of destructors. Units after the last round are lost:
 * no other thread waits for them, so they might miss the sum anyway. */
static void forget_thread(void *unused)
{
    struct thread_count **link = &threads;
    sigset_t before;

    (void)unused;
    if (++thread_count.rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(key, &thread_count);
        return;
    }
    lock_threads(&before);
    while (*link && *link != &thread_count)
        link = &(*link)->next;
    if (*link) {
        *link = thread_count.next;
        thread_total--;
        ended += count_of_thread();
    }
    unlock_threads(&before);
    thread_count.counted = 0;
    thread_count.share = -SHARE_MAX;
    for (int i = 0; i < GASMETER_BANKS; i++)
        gasmeter_banks[i] = thread_count.share;
}

static void make_key(void)
{
    /* Without a key, units of ended threads are lost. No caller could handle the error. */
    (void)pthread_key_create(&key, forget_thread);
}

static void know_thread(void)
{
    sigset_t before;

    pthread_once(&key_once, make_key);
    thread_count.banks = gasmeter_banks;
    thread_count.limit = GASMETER_UNLIMITED;
    pthread_setspecific(key, &thread_count);
    lock_threads(&before);
    thread_count.next = threads;
    threads = &thread_count;
    thread_total++;
    unlock_threads(&before);
}

uint64_t count_of_process(void)
{
    sigset_t before;
    uint64_t sum;

    if (!thread_count.banks)
        know_thread();
    lock_threads(&before);
    sum = ended;
    for (const struct thread_count *count = threads; count; count = count->next)
        sum += sum_of_banks(count, count->banks);
    unlock_threads(&before);
    return sum;
}

/* ---- distributing the budget -------------------------------------------------------------- */

/* Includes the first unit past the limit. */
static uint64_t rest_of(uint64_t limit, uint64_t counted)
{
    if (limit == GASMETER_UNLIMITED)
        return GASMETER_UNLIMITED;
    return limit >= counted ? limit - counted + 1 : 0;
}

static uint64_t rest_of_process(void)
{
    return process_limit == GASMETER_UNLIMITED ? GASMETER_UNLIMITED
                                               : rest_of(process_limit, count_of_process());
}

/* Returns what the thread may use before it must check again. */
static uint64_t left_of(uint64_t counted)
{
    const uint64_t own = rest_of(thread_count.limit, counted);
    uint64_t shared = rest_of_process();

    if (thread_total > 1 && shared != GASMETER_UNLIMITED)
        shared /= thread_total;
    return own < shared ? own : shared;
}

static void share_out(void)
{
    uint64_t counted = count_of_thread();
    uint64_t share = left_of(counted) / GASMETER_BANKS;

    thread_count.counted = counted;
    thread_count.share = -(int64_t)(share < SHARE_MAX ? share : SHARE_MAX);
    for (int i = 0; i < GASMETER_BANKS; i++)
        gasmeter_banks[i] = thread_count.share;
}

/* Metered code still runs until the process has ended; it must not get here again. */
static void end_all(void)
{
    process_limit = GASMETER_UNLIMITED;
    count_set_limit(GASMETER_UNLIMITED);
    end_process();
}

static void spend(void)
{
    void (*spent)(void *argument) = thread_count.spent;

    if (!spent) {
        end_all();
        return;
    }
    count_set_limit(GASMETER_UNLIMITED);
    spent(thread_count.argument);
}

static bool process_is_spent(void)
{
    return process_limit != GASMETER_UNLIMITED && count_of_process() > process_limit;
}

static bool thread_is_spent(void)
{
    return thread_count.limit != GASMETER_UNLIMITED && count_of_thread() > thread_count.limit;
}

void count_look(void)
{
    if (!thread_count.banks)
        know_thread();
    if (process_is_spent())
        end_all();
    if (thread_is_spent())
        spend();
    else
        share_out();
}

uint64_t count_left(void)
{
    const uint64_t own = rest_of(thread_count.limit, count_of_thread());
    const uint64_t shared = rest_of_process();
    const uint64_t rest = own < shared ? own : shared;

    return rest > 0 && rest != GASMETER_UNLIMITED ? rest - 1 : rest;
}

void count_set_limit(uint64_t limit)
{
    if (!thread_count.banks)
        know_thread();
    thread_count.limit = limit;
    share_out();
}

void count_begin(uint64_t limit, void (*spent)(void))
{
    process_limit = limit;
    end_process = spent;
    if (!thread_count.banks)
        know_thread();
    share_out();
}

void count_set(uint64_t units)
{
    thread_count.counted += units - count_of_thread();
}

/* ---- forks and signals ----------------------------------------------------------- */

void count_restart(void)
{
    struct thread_count *self = thread_count.banks ? &thread_count : NULL;

    pthread_mutex_init(&threads_lock, NULL);
    threads = self;
    thread_total = self ? 1 : 0;
    ended = 0;
    thread_count.next = NULL;
    thread_count.counted = 0;
    for (int i = 0; i < GASMETER_BANKS; i++)
        gasmeter_banks[i] = thread_count.share;
    if (self)
        share_out();
}

void count_save(struct count_saved *saved)
{
    memcpy(saved->banks, gasmeter_banks, sizeof saved->banks);
    saved->carry = gasmeter_carry;
    saved->share = thread_count.share;
}

/*
 * The hazard: a handler interrupts a flush between its load and its store.
 *
 *   flush:     load bank  (100)
 *     handler:   bank = bank + 7  (107)
 *   flush:     store bank (100 + 5)          the handler's 7 units are lost
 *
 * So the handler's units go to `counted`, and the banks return to their values
 * of before. They reach zero no sooner then, so what short handlers spend is
 * looked at here.
 */
void count_restore(const struct count_saved *saved)
{
    uint64_t counted;

    if (process_is_spent() || thread_is_spent())
        count_look();
    counted = count_of_thread();
    memcpy(gasmeter_banks, saved->banks, sizeof saved->banks);
    gasmeter_carry = saved->carry;
    thread_count.share = saved->share;
    thread_count.counted = 0;
    thread_count.counted = counted - count_of_thread();
}
