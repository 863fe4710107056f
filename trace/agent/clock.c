/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/agent/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/agent/system_call.h"

enum { PAGE = 4096, HIGH_FD = 200 };

/* The computrons before an engine runs: higher than any meter. */
#define NONE_YET (UINT64_C(1) << 40)

#define CACHE_MISSES_OF(cache)                                                                     \
    ((cache) | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct {
    uint32_t type;
    uint64_t config;
} events[TRACE_CLOCKS] = {
    [TRACE_CLOCK_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    [TRACE_CLOCK_INSTRUCTIONS] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    [TRACE_CLOCK_CACHE_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    [TRACE_CLOCK_TLB_MISSES] = {PERF_TYPE_HW_CACHE, CACHE_MISSES_OF(PERF_COUNT_HW_CACHE_DTLB)},
    [TRACE_CLOCK_PAGE_FAULTS] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
};

static enum trace_clock_kind kind;
static const volatile uint32_t *const volatile *computrons; /* the program's variable */

static _Thread_local const volatile struct perf_event_mmap_page *counter_page;
static _Thread_local int counter_fd; /* plus 1; 0: none. trace/agent/lane.c says why not -1 */

/* ---- opening ---- */

static int agent_clock_refuse(struct trace_head *head, const char *words, const char *why)
{
    snprintf(head->refusal, sizeof head->refusal, "%s: %s", words, why);
    return -1;
}

static int open_event(void)
{
    struct perf_event_attr attributes = {
        .type = events[kind].type,
        .size = sizeof attributes,
        .config = events[kind].config,
        .exclude_kernel = kind != TRACE_CLOCK_PAGE_FAULTS,
        .exclude_hv = 1,
    };
    const int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    int high;

    if (fd < 0)
        return -1;
    /* The program's own descriptors keep their numbers. */
    high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
    if (high < 0)
        return fd;
    (void)close(fd);
    return high;
}

/* The CPU's counter is read through its page, whose mapping keeps it open. */
static bool map_counter(int fd)
{
    const volatile struct perf_event_mmap_page *const page =
        mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

    if (page == MAP_FAILED)
        return false;
    if (!page->cap_user_rdpmc) {
        (void)munmap((void *)page, PAGE);
        errno = EPERM;
        return false;
    }
    counter_page = page;
    return true;
}

static bool open_counter(void)
{
    const int fd = open_event();
    bool good;

    if (fd < 0)
        return false;
    if (kind == TRACE_CLOCK_PAGE_FAULTS) {
        counter_fd = fd + 1;
        return true;
    }
    good = map_counter(fd);
    (void)close(fd);
    return good;
}

int agent_clock_open(struct trace_head *head)
{
    kind = head->clock < TRACE_CLOCKS ? (enum trace_clock_kind)head->clock : TRACE_CLOCK_TSC;
    if (kind == TRACE_CLOCK_TSC)
        return 0;
    if (kind == TRACE_CLOCK_COMPUTRONS) {
        computrons = (const volatile uint32_t *const volatile *)head->computrons_at;
        return computrons != NULL ? 0
                                  : agent_clock_refuse(head, "this program counts no computrons",
                                                       "only gaspipe-worker does");
    }
    return open_counter()
               ? 0
               : agent_clock_refuse(head, "this machine has no such counter", strerror(errno));
}

void agent_clock_thread_begins(void)
{
    if (kind > TRACE_CLOCK_COMPUTRONS && counter_page == NULL && counter_fd == 0)
        (void)open_counter();
}

void agent_clock_thread_ends(void)
{
    const volatile struct perf_event_mmap_page *const page = counter_page;
    const int fd = counter_fd - 1;

    counter_page = NULL;
    counter_fd = 0;
    if (page != NULL)
        (void)system_call(SYS_munmap, (long)page, PAGE, 0, 0);
    if (fd >= 0)
        (void)system_call(SYS_close, fd, 0, 0, 0);
}

/* ---- reading ---- */

uint64_t agent_clock_tsc(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

static uint64_t read_processor_counter(uint32_t number)
{
    uint32_t low, high;

    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
    return (uint64_t)high << 32 | low;
}

/* As in perf_event_open(2): reads again if Linux has changed the page meanwhile. */
static uint64_t read_page(const volatile struct perf_event_mmap_page *page)
{
    uint32_t sequence, index;
    uint64_t count;

    do {
        sequence = page->lock;
        atomic_signal_fence(memory_order_seq_cst);
        index = page->index;
        count = (uint64_t)page->offset;
        if (index != 0) {
            const unsigned unused = 64U - page->pmc_width;

            count += (uint64_t)((int64_t)(read_processor_counter(index - 1) << unused) >> unused);
        }
        atomic_signal_fence(memory_order_seq_cst);
    } while (page->lock != sequence);
    return count;
}

static uint64_t read_event(void)
{
    uint64_t count = 0;

    return counter_fd > 0 && system_call(SYS_read, counter_fd - 1, (long)&count, sizeof count, 0) ==
                                 sizeof count
               ? count
               : 0;
}

static uint64_t read_computrons(void)
{
    static _Thread_local uint64_t last; /* plus 1; 0: none yet */
    const volatile uint32_t *const word = *computrons;

    if (word != NULL)
        last = *word + UINT64_C(1);
    return last != 0 ? last - 1 : NONE_YET;
}

uint64_t agent_clock_read(void)
{
    switch (kind) {
    case TRACE_CLOCK_TSC:
        return agent_clock_tsc();
    case TRACE_CLOCK_COMPUTRONS:
        return 1 + read_computrons();
    case TRACE_CLOCK_PAGE_FAULTS:
        return 1 + read_event();
    default:
        return counter_page != NULL ? 1 + read_page(counter_page) : 1;
    }
}
