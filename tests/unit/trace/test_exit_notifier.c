/* SPDX-License-Identifier: Apache-2.0 */
/* A tracer that is killed is no longer waited for: Linux clears its id in the wake words. */
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/read/trace_budget.h"
#include "trace/ring/trace_ring.h"

enum { LANES = 8, LIMIT_S = 60 };

/* The memory of a ring whose tracer is another process. */
struct traced {
    struct trace_head *head;
    size_t size;
    pid_t tracer;
};

static int unused_events(void *context, unsigned lane, uint32_t thread, const uint64_t *events,
                         size_t count, struct error *error)
{
    (void)context, (void)lane, (void)thread, (void)events, (void)count, (void)error;
    return 0;
}

static struct trace_ring *read_once(int fd)
{
    const struct trace_ring_options options = {.lanes = LANES, .lane_chunks = 2};
    const struct trace_sink sink = {.events = unused_events};
    struct error error;
    struct trace_ring *const ring = trace_ring_new(&options, dup(fd), &error);
    bool busy;

    if (ring == NULL || trace_ring_step(ring, &sink, &busy, &error) != 0)
        _exit(1);
    return ring;
}

/* Starts a tracer, which reads once. Then it waits to be killed; or it ends as it should. */
static void begin(struct traced *traced, bool ends)
{
    const int fd = memfd_create("test", MFD_CLOEXEC);
    int ready[2];
    char byte;

    assert_true(fd >= 0);
    assert_int_equal(pipe(ready), 0);
    traced->tracer = fork();
    assert_true(traced->tracer >= 0);
    if (traced->tracer == 0) {
        struct trace_ring *const ring = read_once(fd);

        if (ends)
            trace_ring_free(ring);
        if (write(ready[1], "r", 1) != 1 || ends)
            _exit(0);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    traced->head = mmap(NULL, sizeof *traced->head, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(traced->head != MAP_FAILED);
    traced->size = traced->head->patches_at;
    assert_int_equal(munmap(traced->head, sizeof *traced->head), 0);
    traced->head = mmap(NULL, traced->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(traced->head != MAP_FAILED);
    close(fd);
}

/* The wake word of a lane; after the last lane, that of the head. */
static _Atomic uint32_t *wake_word_of(const struct traced *traced, unsigned lane)
{
    struct trace_lane *const lanes =
        (struct trace_lane *)((char *)traced->head + traced->head->lanes_at);

    return lane < LANES ? &lanes[lane].wake_word : &traced->head->wake_word;
}

/* Starts a process that waits at a wake word until the tracer has exited. */
static pid_t start_waiter(_Atomic uint32_t *wake_word)
{
    const pid_t waiter =
        _Fork(); /* ThreadSanitizer's fork() starts a thread, which waits elsewhere */

    assert_true(waiter >= 0);
    if (waiter != 0)
        return waiter;
    for (;;) {
        const uint32_t quiet = atomic_fetch_and(wake_word, ~TRACE_WAKE_SET) & ~TRACE_WAKE_SET;

        if ((quiet & TRACE_WAKE_TRACER) == 0)
            _exit(0);
        (void)syscall(SYS_futex, wake_word, FUTEX_WAIT, quiet, NULL, NULL, 0);
    }
}

static void wait_until_it_waits(pid_t waiter, const _Atomic uint32_t *wake_word)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    for (int i = 0; i < LIMIT_S * 1000 && !trace_text_waits_at(waiter, (uintptr_t)wake_word); i++)
        nanosleep(&moment, NULL);
    assert_true(trace_text_waits_at(waiter, (uintptr_t)wake_word));
}

static void test_killed_tracer_wakes_waiters(void **state)
{
    struct traced traced;
    pid_t waiters[LANES + 1];
    int status;

    (void)state;
    begin(&traced, false);
    for (unsigned i = 0; i <= LANES; i++)
        waiters[i] = start_waiter(wake_word_of(&traced, i));
    for (unsigned i = 0; i <= LANES; i++)
        wait_until_it_waits(waiters[i], wake_word_of(&traced, i));
    kill(traced.tracer, SIGKILL);
    alarm(LIMIT_S);
    for (unsigned i = 0; i <= LANES; i++) {
        assert_int_equal(waitpid(waiters[i], &status, 0), waiters[i]);
        assert_int_equal(status, 0);
    }
    alarm(0);
    assert_int_equal(waitpid(traced.tracer, &status, 0), traced.tracer);
    munmap(traced.head, traced.size);
}

/* A freed ring is not touched. */
static void test_a_ring_that_is_freed_is_left_alone(void **state)
{
    struct traced traced;
    int status;

    (void)state;
    begin(&traced, true);
    assert_int_equal(waitpid(traced.tracer, &status, 0), traced.tracer);
    for (unsigned i = 0; i <= LANES; i++)
        assert_int_equal(*wake_word_of(&traced, i) & TRACE_WAKE_TRACER, traced.tracer);
    munmap(traced.head, traced.size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_tracer_wakes_waiters),
        cmocka_unit_test(test_a_ring_that_is_freed_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
