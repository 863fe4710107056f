/* SPDX-License-Identifier: Apache-2.0 */
#include "node/addon/placement.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/stamp.h"

#define MILLISECOND INT64_C(1000000)

/* Reading statistics takes some microseconds. */
#define LOOK_EVERY (10 * MILLISECOND)

/*
 * A worker waits for this thread to go to sleep each time, which is a twentieth of the time that
 * it runs. Where others run on the processor it is as much as it runs, and more.
 */
enum { MOST_WAITED = 4 }; /* one part in so many of the time that it ran */

#define APART_FIRST (100 * MILLISECOND)
#define APART_MOST  (3200 * MILLISECOND)

/* Of all workers of this thread: they wait for the same processor. */
static _Thread_local struct {
    int64_t until; /* CLOCK_MONOTONIC */
    int64_t last;  /* how long it was, or 0 */
} apart;

void placement_init(struct placement *placement)
{
    *placement = (struct placement){.worker = -1, .processor = -1, .statistics = -1};
}

void placement_follow(struct placement *placement, int worker)
{
    char path[sizeof "/proc/-2147483648/schedstat"];

    if (sched_getaffinity(worker, sizeof placement->anywhere, &placement->anywhere) != 0)
        return;
    placement->worker = worker;
    (void)snprintf(path, sizeof path, "/proc/%d/schedstat", worker);
    placement->statistics = open(path, O_RDONLY | O_CLOEXEC);
}

/* How long the worker ran and waited since the last look. False: that is not known. */
static bool look(struct placement *placement, uint64_t *ran, uint64_t *waited)
{
    char text[64];
    ssize_t length = pread(placement->statistics, text, sizeof text - 1, 0);
    uint64_t all_ran, all_waited;
    char *blank, *end;

    if (length <= 0)
        return false;
    text[length] = '\0';
    all_ran = strtoull(text, &blank, 10);
    all_waited = strtoull(blank, &end, 10);
    if (blank == text || end == blank)
        return false;
    *ran = all_ran - placement->ran;
    *waited = all_waited - placement->waited;
    placement->ran = all_ran;
    placement->waited = all_waited;
    return true;
}

static bool is_contended(struct placement *placement, int64_t now)
{
    uint64_t ran, waited;
    bool was_placed = placement->processor >= 0;

    if (now < apart.until)
        return true;
    if (placement->statistics < 0 || now - placement->looked < LOOK_EVERY)
        return false;
    placement->looked = now;
    if (!look(placement, &ran, &waited) || !was_placed)
        return false;
    if (waited < MILLISECOND || waited < ran / MOST_WAITED) {
        apart.last = 0;
        return false;
    }
    apart.last = apart.last == 0 ? APART_FIRST : apart.last * 2;
    if (apart.last > APART_MOST)
        apart.last = APART_MOST;
    apart.until = now + apart.last;
    return true;
}

void placement_here(struct placement *placement)
{
    int here = sched_getcpu();
    cpu_set_t set;

    if (placement->worker < 0 || here < 0)
        return;
    if (is_contended(placement, stamp_now().mono)) {
        placement_anywhere(placement);
        return;
    }
    if (here == placement->processor)
        return;
    CPU_ZERO(&set);
    CPU_SET(here, &set);
    if (sched_setaffinity(placement->worker, sizeof set, &set) == 0)
        placement->processor = here;
    else
        placement->worker = -1;
}

void placement_anywhere(struct placement *placement)
{
    if (placement->processor >= 0)
        (void)sched_setaffinity(placement->worker, sizeof placement->anywhere,
                                &placement->anywhere);
    placement->processor = -1;
}

void placement_free(struct placement *placement)
{
    if (placement->statistics >= 0)
        (void)close(placement->statistics);
    placement_init(placement);
}
