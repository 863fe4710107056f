/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring between a traced process and its tracer by itself: how many events a second come
 * through, and whether each is read or counted as lost. A process writes events with the agent's
 * code for lanes, as trampolines do, but for reading the clock; another reads them with the
 * tracer's.
 *
 * usage: trace_ring wait|drop EVENTS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stamp.h"
#include "trace/agent/lane.h"
#include "trace/agent/modules.h"
#include "trace/ring/trace_ring.h"

enum { FUNCTION = 1, LANES = 1 };

struct seen {
    uint64_t events, sum;
};

static int on_begun(void *context, uint32_t process, const struct patch_plan *plan,
                    struct error *error)
{
    (void)context;
    (void)process;
    (void)plan;
    (void)error;
    return 0;
}

static int on_events(void *context, unsigned lane, uint32_t thread, const uint64_t *events,
                     size_t count, struct error *error)
{
    struct seen *const seen = context;

    (void)lane;
    (void)thread;
    (void)error;
    for (size_t i = 0; i < count; i++)
        if ((events[i] >> 1 & 0x7fff) == FUNCTION) {
            seen->events++;
            seen->sum += events[i] >> TRACE_TIME_SHIFT;
        }
    return 0;
}

static int on_ended(void *context, unsigned lane, struct error *error)
{
    (void)context;
    (void)lane;
    (void)error;
    return 0;
}

static void thread_began(void)
{
}

/* Stands for the program's functions. */
long bench_leaf(long number);
__attribute__((noinline)) long bench_leaf(long number)
{
    __asm__ volatile("" : "+r"(number));
    return number * 3 + 1;
}

/* As trampolines do. */
static void write_events(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t event =
            i << TRACE_TIME_SHIFT | FUNCTION << 1 | 1; /* no frame of it is open */
        uint64_t *at = (uint64_t *)sizeof *at;

        __asm__ volatile("xadd %0,%1" : "+r"(at), "+m"(trace_event) : : "memory", "cc");
        if (((uintptr_t)at & 0xff0) != 0)
            *(volatile uint64_t *)at = event;
        else
            lanes_slow_event(event);
    }
}

/* The process that is traced: it describes itself, and writes when the tracer is ready. */
static void be_traced(int fd, uint64_t count)
{
    struct trace_head *const first = mmap(NULL, sizeof *first, PROT_READ, MAP_SHARED, fd, 0);
    struct trace_head *const head =
        mmap(NULL, first->regions_at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    uint64_t slot = (uint64_t)(uintptr_t)&slot;
    struct rusage used;

    head->process = (uint32_t)getpid();
    head->mapped_at = (uint64_t)(uintptr_t)head;
    modules_describe(head);
    lanes_open(head, thread_began);
    atomic_store(&head->state, TRACE_ASKED);
    while (atomic_load(&head->state) == TRACE_ASKED)
        usleep(100);
    (void)lanes_slow_entry(&slot);
    write_events(count);
    lanes_thread_ends();
    (void)getrusage(RUSAGE_SELF, &used);
    printf("writer %.3f ", (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec);
    (void)fflush(stdout);
    _exit(0);
}

static void fail(const struct error *error)
{
    (void)fprintf(stderr, "trace_ring: %s\n", error->text);
    exit(1);
}

static double user_seconds(void)
{
    struct rusage used;

    (void)getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_utime.tv_sec + 1e-6 * (double)used.ru_utime.tv_usec;
}

int main(int argc, char **argv)
{
    const uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000000;
    struct trace_ring_options options = {
        .policy = argc > 1 && strcmp(argv[1], "drop") == 0 ? TRACE_DROP : TRACE_WAIT,
        .program = "/proc/self/exe",
        .lanes = LANES,
        .lane_chunks = TRACE_CHUNKS_DEFAULT,
    };
    struct seen seen = {0};
    const struct trace_sink sink = {
        .context = &seen, .begun = on_begun, .events = on_events, .ended = on_ended};
    const struct trace_lane *lane;
    struct trace_ring *ring;
    struct error error;
    int64_t began;
    uint64_t lost;
    double passed;
    pid_t child;
    bool busy;

    if (option_list_add(&options.choice.functions, (char *)"bench_leaf", &error) != 0 ||
        (ring = trace_ring_new(&options, -1, &error)) == NULL)
        fail(&error);
    lane = (const struct trace_lane *)((const char *)trace_ring_head(ring) +
                                       trace_ring_layout(ring)->lanes_at);
    began = stamp_now().mono;
    child = fork();
    if (child == 0)
        be_traced(trace_ring_fd(ring), count);
    while (waitpid(child, NULL, WNOHANG) == 0)
        if (trace_ring_step(ring, &sink, &busy, &error) != 0)
            fail(&error);
    if (trace_ring_finish(ring, &sink, &error) != 0)
        fail(&error);
    passed = (double)(stamp_now().mono - began) / 1e9;
    lost = atomic_load(&lane->lost_events);
    printf("reader %.3f passed %.3f seconds; written %llu read %llu lost %llu in %llu chunks%s\n",
           user_seconds(), passed, (unsigned long long)count, (unsigned long long)seen.events,
           (unsigned long long)lost, (unsigned long long)atomic_load(&lane->lost_chunks),
           seen.events + lost == count ? "" : ": NOT ALL ARE COUNTED");
    trace_ring_free(ring);
    return seen.events + lost == count ? 0 : 1;
}
