/* SPDX-License-Identifier: Apache-2.0 */
/* gasmeter.h from a program's side; what it prints is in meter.bats. */
#include <stdint.h>
#include <stdio.h>

#include <gasmeter.h>

static volatile long number;

static void work(void *argument)
{
    for (long i = 0; i < *(long *)argument; i++)
        number++;
}

static void work_forever(void *unused)
{
    (void)unused;
    for (;;)
        number++;
}

static void work_within(void *argument)
{
    *(enum gasmeter_end *)argument = gasmeter_turn(GASMETER_NONE, work_forever, NULL, NULL);
    number = -1; /* the outer budget is spent: not reached */
}

static void more(void *argument)
{
    ++*(int *)argument;
    gasmeter_budget(GASMETER_NONE);
}

static void callbacks(void)
{
    long turns = 100000;
    int called = 0;

    gasmeter_on_spent(more, &called);
    gasmeter_budget(1000);
    work(&turns);
    puts(called == 1 && gasmeter_left() == GASMETER_NONE ? "called back, continued" : "not called");
    gasmeter_on_spent(NULL, NULL);
}

static void regions(void)
{
    long turns = 100;
    uint64_t one, paused;

    gasmeter_start();
    work(&turns);
    one = gasmeter_stop();
    gasmeter_start();
    gasmeter_pause();
    work(&turns);
    gasmeter_resume();
    paused = gasmeter_stop();
    gasmeter_start();
    work(&turns);
    printf("regions %d\n",
           one > 100 && paused < one && gasmeter_peek() >= one && gasmeter_stop() >= one ? 3 : 0);
}

int main(void)
{
    enum gasmeter_end inner = GASMETER_RETURNED, end;
    long turns = 1000;
    uint64_t cost, before = gasmeter_read();

    end = gasmeter_turn(1000000, work, &turns, &cost);
    puts(end == GASMETER_RETURNED && cost > 1000 && cost < gasmeter_read() - before
             ? "returned, used as much as read"
             : "not returned");
    for (int i = 0; i < 2; i++) {
        end = gasmeter_turn(1000000, work_forever, NULL, &cost);
        puts(end == GASMETER_SPENT && cost > 1000000 ? (i ? "spent again" : "spent") : "not spent");
    }
    end = gasmeter_turn(500000, work_within, &inner, NULL);
    puts(end == GASMETER_SPENT && number != -1 ? "inner stopped by outer" : "inner not stopped");
    callbacks();
    regions();
    return 0;
}
