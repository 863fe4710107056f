/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the cost of measuring a delivery, as JSON: the nanoseconds of each step that the worker
 * takes for it, natively or under QEMU. The result is the fastest of many short blocks, so that
 * other load on the machine does not show.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "base/stamp.h"
#include "counter/gasmark.h"

enum { BLOCKS = 200, ROUNDS = 200 };

static struct stamp first;

static void take_first_stamp(void)
{
    first = stamp_now();
}

static void take_later_stamp(void)
{
    (void)stamp_after(first);
}

static void start_and_stop(void)
{
    gasmark_start();
    (void)gasmark_stop_totals();
}

static void pause_and_resume(void)
{
    gasmark_pause();
    gasmark_resume();
}

static void ask_for_processor_time(void)
{
    struct rusage usage;

    /* Cannot fail: the address is valid. */
    (void)getrusage(RUSAGE_THREAD, &usage);
}

static double nanoseconds_of(void (*work)(void))
{
    int64_t least = INT64_MAX;

    for (int block = 0; block < BLOCKS; block++) {
        int64_t begun = stamp_now().mono;
        int64_t took;

        for (int i = 0; i < ROUNDS; i++)
            work();
        took = stamp_now().mono - begun;
        if (took < least)
            least = took;
    }
    return (double)least / ROUNDS;
}

int main(void)
{
    printf("{\"firstStamp\":%.0f,", nanoseconds_of(take_first_stamp));
    printf("\"laterStamp\":%.0f,", nanoseconds_of(take_later_stamp));
    printf("\"startStop\":%.0f,", nanoseconds_of(start_and_stop));
    printf("\"pauseResume\":%.0f,", nanoseconds_of(pause_and_resume));
    printf("\"processorTime\":%.0f}\n", nanoseconds_of(ask_for_processor_time));
    return 0;
}
