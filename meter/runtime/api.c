/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <string.h>
#include <unistd.h>

#include "meter/gasmeter.h"
#include "meter/runtime/state.h"

/* clang compiles this file; gcc only checks it for warnings. */
#ifdef __clang__
#define RARE __attribute__((cold, preserve_most, used))
#else
#define RARE __attribute__((cold, used))
#endif

void gasmeter_refill(void) RARE;
void gasmeter_flush(uint64_t units) RARE;
void gasmeter_block(uint64_t units);

/* ---- called by metered code ---- */

void gasmeter_refill(void)
{
    runtime_begin();
    count_look();
}

/* A block flushes at most GASMETER_OVERSHOOT units. A larger number belongs to a copy, which is
 * charged before it runs. If the budget does not cover the copy, it neither runs nor is charged. */
void gasmeter_flush(uint64_t units)
{
    if (units > GASMETER_OVERSHOOT) {
        const uint64_t left = count_left();

        if (left < units - GASMETER_OVERSHOOT)
            units = left + GASMETER_OVERSHOOT;
    }
    gasmeter_banks[0] += (int64_t)units;
    if (gasmeter_banks[0] >= 0)
        gasmeter_refill();
}

void gasmeter_block(uint64_t units)
{
    gasmeter_flush(units);
}

/* ---- gasmeter.h ---- */

uint64_t gasmeter_read(void)
{
    return count_of_thread();
}

uint64_t gasmeter_read_process(void)
{
    return count_of_process();
}

void gasmeter_budget(uint64_t units)
{
    uint64_t now = count_of_thread();

    count_set_limit(units < GASMETER_UNLIMITED - now ? now + units : GASMETER_UNLIMITED);
}

uint64_t gasmeter_left(void)
{
    uint64_t now = count_of_thread();

    if (!thread_count.banks || thread_count.limit == GASMETER_UNLIMITED)
        return GASMETER_NONE;
    return thread_count.limit > now ? thread_count.limit - now : 0;
}

void gasmeter_on_spent(void (*spent)(void *argument), void *argument)
{
    thread_count.spent = spent;
    thread_count.argument = argument;
}

static void leave_turn(void *place)
{
    _longjmp(*(jmp_buf *)place, 1);
}

enum gasmeter_end gasmeter_turn(uint64_t units, void (*turn)(void *argument), void *argument,
                                uint64_t *cost)
{
    void (*const spent_before)(void *argument) = thread_count.spent;
    void *const argument_before = thread_count.argument;
    const uint64_t limit_before = thread_count.banks ? thread_count.limit : GASMETER_UNLIMITED;
    const uint64_t begun = count_of_thread();
    volatile enum gasmeter_end end = GASMETER_SPENT;
    jmp_buf place;

    if (_setjmp(place) == 0) {
        gasmeter_on_spent(leave_turn, &place);
        gasmeter_budget(units);
        if (thread_count.limit > limit_before)
            count_set_limit(limit_before);
        turn(argument);
        end = GASMETER_RETURNED;
    }
    if (cost)
        *cost = count_of_thread() - begun;
    gasmeter_on_spent(spent_before, argument_before);
    count_set_limit(limit_before);
    count_look();
    return end;
}
