/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counter/gasmark.h"
#include "meter/gasmeter.h"
#include "meter/runtime/profile.h"
#include "meter/runtime/state.h"

struct region {
    bool open;
    bool paused;
    bool of_process;
    uint64_t begun;  /* the count when it began to run, if it runs */
    uint64_t before; /* what it had used up to its last pause */
};

static _Thread_local struct region region;
static _Thread_local bool wants_process;
static struct region process_region;

static struct region *current(void)
{
    return wants_process ? &process_region : &region;
}

static uint64_t now(const struct region *of)
{
    return of->of_process ? count_of_process() : count_of_thread();
}

static uint64_t used(const struct region *of)
{
    if (!of->open)
        return 0;
    return of->before + (of->paused ? 0 : now(of) - of->begun);
}

void gasmeter_start(void)
{
    struct region *of = current();

    *of = (struct region){.open = true, .of_process = wants_process};
    profile_region_start(of->of_process);
    of->begun = now(of);
}

uint64_t gasmeter_stop(void)
{
    struct region *of = current();
    uint64_t units = used(of);

    if (of->open) {
        report_region(units);
        profile_region_stop(of->of_process, units);
    }
    of->open = false;
    return units;
}

void gasmeter_pause(void)
{
    struct region *of = current();

    of->before = used(of);
    of->paused = true;
    profile_region_pause(of->of_process);
}

void gasmeter_resume(void)
{
    struct region *of = current();

    of->paused = false;
    if (of->open)
        profile_region_resume(of->of_process);
    of->begun = now(of);
}

uint64_t gasmeter_peek(void)
{
    return used(current());
}

/* ---- gasmark.h ------------------------------------------------------------------ */

/* QEMU's counter hears of every mark. */
static void tell_qemu(unsigned mark, void *buffer, unsigned long size)
{
    /* It always fails: that is what makes a mark harmless. read() might be metered. */
    (void)syscall(SYS_read, (int)(0xcafebabeU + mark), buffer, size);
}

static void give(void *buffer, unsigned long size, uint64_t number)
{
    uint64_t found;

    if (size < sizeof found)
        return;
    memcpy(&found, buffer, sizeof found);
    if (found == GASMARK_NONE)
        memcpy(buffer, &number, sizeof number);
}

/* The number of QEMU's counter, where it is there, stays in the buffer; else it is ours. */
void gasmeter_mark(unsigned mark, void *buffer, unsigned long size)
{
    uint64_t scope;

    switch (mark) {
    case GASMARK_START:
        tell_qemu(mark, buffer, size);
        gasmeter_start();
        return;
    case GASMARK_STOP: {
        uint64_t units = gasmeter_stop();

        tell_qemu(mark, buffer, size);
        give(buffer, size, units);
        return;
    }
    case GASMARK_PAUSE:
        gasmeter_pause();
        break;
    case GASMARK_RESUME:
        gasmeter_resume();
        break;
    case GASMARK_SCOPE:
        memcpy(&scope, buffer, sizeof scope);
        wants_process = scope == GASMARK_PROCESS;
        break;
    default:
        break;
    }
    tell_qemu(mark, buffer, size);
    if (mark == GASMARK_PEEK)
        give(buffer, size, gasmeter_peek());
}
