/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/marks.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "counter/gasmark.h"
#include "counter/qemu/code/profile.h"
#include "counter/qemu/emulator/qemu_plugin_api.h"
#include "counter/qemu/guest/address_space.h"
#include "counter/qemu/reporter.h"
#include "sandbox/contract_filter.h"
#include "sandbox/guest_syscalls.h"

/*
 * ---- the watchdog ----
 *
 * A thread that checks whether a region passed its limit, and if so ends the process with
 * GASMARK_EXIT_LIMIT. It sleeps while no region is limited. The counted code does not wait for it.
 */

/* QEMU never runs more than about this many guest instructions per nanosecond, so the watchdog
 * sleeps until a region could have reached its limit. */
#define INSTRUCTIONS_PER_NANOSECOND 4
#define SHORTEST_SLEEP_NS           1000000
#define LONGEST_SLEEP_NS            50000000

/* Returns how many instructions the process may still execute before a region passes its limit. 0:
 * a region passed it; UINT64_MAX: no limits. Any thread may call it. */
static uint64_t instructions_left(void);
static void watchdog_wake(void);
static bool running;
static sem_t wanted;

/* Reports the reason on stderr and exits with GASMARK_EXIT_LIMIT. */
static _Noreturn void watchdog_over_limit(void)
{
    static const char words[] = "gasmark: instruction limit passed\n";

    reporter_over_limit();
    if (write(STDERR_FILENO, words, sizeof words - 1) < 0) {
        /* stderr is closed; the exit status still shows the reason */
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

/* Protects `running`. Held during a fork, because the child has only the thread that forks. */
static pthread_mutex_t running_lock = PTHREAD_MUTEX_INITIALIZER;

static void take_watchdog_lock(void)
{
    pthread_mutex_lock(&running_lock);
}

static void leave_watchdog_lock(void)
{
    pthread_mutex_unlock(&running_lock);
}

/* A forked child has the region but no watchdog thread. */
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

    /* QEMU's signal handlers may only run on QEMU's threads. */
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

static void prepare_watchdog(void)
{
    sem_init(&wanted, 0, 0);
    pthread_atfork(take_watchdog_lock, leave_watchdog_lock, watchdog_in_child);
}

/* Called when a region with a limit begins to run. */
static void watchdog_wake(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, prepare_watchdog);
    take_watchdog_lock();
    if (!running)
        start_thread();
    leave_watchdog_lock();
    sem_post(&wanted);
}

#define FIRST_DESCRIPTOR      0xcafebabeU
#define FIRST_DESCRIPTOR_NEAR 0x0afebabeU

/* The state of one guest thread. */
struct thread {
    struct region own;
    uint64_t limit;
    enum gasmark_scope scope; /* its later regions have this scope */
    bool has_own;             /* its last start mark opened a region of its own */
};

static struct thread threads[TALLY_THREADS_MAX];
static struct region process_region;
static struct region program_region;
static unsigned threads_used;

/* One lock for all threads: marks are rare, and the watchdog reads every thread. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take_marks_lock(void)
{
    pthread_mutex_lock(&lock);
}

static void leave_marks_lock(void)
{
    pthread_mutex_unlock(&lock);
}

void marks_limit_program(uint64_t instructions)
{
    region_start(&program_region, (struct tally){0}, instructions);
    watchdog_wake();
}

void marks_check_program(void)
{
    if (program_region.limit > 0 && region_over_limit(&program_region, tally_of_process()))
        watchdog_over_limit();
}

/* GASMARK_HELLO returns it. */
static enum gasmark_precision precision_now;

void marks_set_precision(enum gasmark_precision precision)
{
    precision_now = precision;
}

void marks_thread_began(unsigned thread)
{
    pthread_mutex_lock(&lock);
    threads[thread] = (struct thread){.scope = GASMARK_THREAD};
    if (thread >= threads_used)
        threads_used = thread + 1;
    pthread_mutex_unlock(&lock);
}

/* Returns the mark that the descriptor stands for, or GASMARK_COUNT. */
static enum gasmark mark_of(uint64_t descriptor)
{
    uint32_t low = (uint32_t)descriptor;

    if (low - FIRST_DESCRIPTOR < GASMARK_COUNT)
        return (enum gasmark)(low - FIRST_DESCRIPTOR);
    if (low - FIRST_DESCRIPTOR_NEAR < GASMARK_COUNT)
        return (enum gasmark)(low - FIRST_DESCRIPTOR_NEAR);
    return GASMARK_COUNT;
}

static void start_region(struct thread *thread, unsigned index)
{
    thread->has_own = thread->scope == GASMARK_THREAD;
    if (thread->has_own)
        region_start(&thread->own, tally_of_thread(index), thread->limit);
    else
        region_start(&process_region, tally_of_process(), thread->limit);
}

static void stop_region(unsigned index, struct region *region, struct tally now)
{
    if (region->state != REGION_CLOSED)
        reporter_region(index, region_tally(region, now), region->calls);
    region_stop(region, now);
}

/* Writes at most as many bytes as the guest's buffer holds. */
static void answer_mark(uint64_t buffer, uint64_t size, uint64_t number)
{
    if (size >= sizeof number)
        guest_memory_write(buffer, &number, sizeof number);
}

/* Writes a struct gasmark_totals if the buffer can hold one. */
static void answer_totals(uint64_t buffer, uint64_t size, const struct tally *kept)
{
    const struct gasmark_totals totals = {
        .instructions = kept->instructions,
        .bytes_read = kept->bytes_read,
        .bytes_written = kept->bytes_written,
    };

    if (size >= sizeof totals)
        guest_memory_write(buffer, &totals, sizeof totals);
    else
        answer_mark(buffer, size, kept->instructions);
}

static uint64_t read_argument(uint64_t buffer, uint64_t size)
{
    uint64_t number = 0;

    if (size < sizeof number || !guest_memory_read(buffer, &number, sizeof number))
        return 0;
    return number;
}

static void hello(uint64_t buffer, uint64_t size, enum gasmark_precision precision)
{
    struct gasmark_hello hello = {
        .magic = GASMARK_MAGIC,
        .version = GASMARK_VERSION,
        .precision = precision,
    };

    if (size >= sizeof hello)
        guest_memory_write(buffer, &hello, sizeof hello);
}

static void obey(unsigned index, enum gasmark mark, uint64_t buffer, uint64_t size)
{
    struct thread *thread = &threads[index];
    struct region *region = thread->has_own ? &thread->own : &process_region;
    struct tally now = thread->has_own ? tally_of_thread(index) : tally_of_process();

    switch (mark) {
    case GASMARK_START:
        profile_region_starts(index);
        start_region(thread, index);
        break;
    case GASMARK_STOP:
        stop_region(index, region, now);
        profile_region_ends(index, region->kept.instructions);
        answer_totals(buffer, size, &region->kept);
        break;
    case GASMARK_PAUSE:
        region_pause(region, now);
        profile_region_rests(index, true);
        break;
    case GASMARK_RESUME:
        region_resume(region, now);
        profile_region_rests(index, false);
        break;
    case GASMARK_PEEK:
        answer_mark(buffer, size, region_tally(region, now).instructions);
        break;
    case GASMARK_BYTES_READ:
        answer_mark(buffer, size, region_tally(region, now).bytes_read);
        break;
    case GASMARK_BYTES_WRITTEN:
        answer_mark(buffer, size, region_tally(region, now).bytes_written);
        break;
    case GASMARK_SYSCALLS:
        answer_mark(buffer, size, region_tally(region, now).syscalls);
        break;
    case GASMARK_FAULTS:
        answer_mark(buffer, size, region_tally(region, now).faults);
        break;
    case GASMARK_LIMIT:
        thread->limit = read_argument(buffer, size);
        break;
    case GASMARK_SCOPE:
        thread->scope =
            read_argument(buffer, size) == GASMARK_PROCESS ? GASMARK_PROCESS : GASMARK_THREAD;
        break;
    case GASMARK_HELLO:
        hello(buffer, size, precision_now);
        break;
    case GASMARK_CONFINE:
        watchdog_wake(); /* the filter forbids threads that are created later */
        profile_sees_files();
        answer_mark(buffer, size, (uint64_t)sandbox_enter_contract_filter(true));
        break;
    case GASMARK_COUNT:
        break;
    }
    if (region_over_limit(region, now))
        watchdog_over_limit();
}

bool marks_handle(unsigned thread, int64_t number, uint64_t descriptor, uint64_t buffer,
                  uint64_t size)
{
    enum gasmark mark = number == GUEST_READ ? mark_of(descriptor) : GASMARK_COUNT;
    bool limited;

    if (mark == GASMARK_COUNT)
        return false;
    pthread_mutex_lock(&lock);
    obey(thread, mark, buffer, size);
    limited = threads[thread].limit > 0;
    pthread_mutex_unlock(&lock);
    if (limited && (mark == GASMARK_START || mark == GASMARK_RESUME))
        watchdog_wake();
    return true;
}

void marks_note_call(unsigned thread, int64_t number)
{
    pthread_mutex_lock(&lock);
    region_note_call(&threads[thread].own, number);
    region_note_call(&process_region, number);
    pthread_mutex_unlock(&lock);
}

static uint64_t left_in(const struct region *region, struct tally now)
{
    uint64_t done = region_tally(region, now).instructions;

    if (region->state != REGION_RUNNING || region->limit == 0)
        return UINT64_MAX;
    return done > region->limit ? 0 : region->limit - done + 1;
}

/* For the watchdog. */
static uint64_t instructions_left(void)
{
    struct tally process = tally_of_process();
    uint64_t least;

    pthread_mutex_lock(&lock);
    least = left_in(&process_region, process);
    if (left_in(&program_region, process) < least)
        least = left_in(&program_region, process);
    for (unsigned index = 0; index < threads_used; index++) {
        uint64_t left = left_in(&threads[index].own, tally_of_thread(index));
        if (left < least)
            least = left;
    }
    pthread_mutex_unlock(&lock);
    return least;
}

/* Holds the lock over a fork, like tally_begin(). Handlers that are registered later take their
 * lock earlier, so this lock is taken before the tally's. */
void marks_begin(void)
{
    pthread_atfork(take_marks_lock, leave_marks_lock, leave_marks_lock);
}
