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
    uint64_t begun;  /* the count when it last began to run, if it runs */
    uint64_t before; /* its units up to the last pause */
};

static _Thread_local struct region region;
static _Thread_local bool wants_process;
static struct region process_region;

static struct region *current(void)
{
    return wants_process ? &process_region : &region;
}

static uint64_t region_clock(const struct region *of)
{
    return of->of_process ? count_of_process() : count_of_thread();
}

static uint64_t used(const struct region *of)
{
    if (!of->open)
        return 0;
    return of->before + (of->paused ? 0 : region_clock(of) - of->begun);
}

void gasmeter_start(void)
{
    struct region *of = current();

    *of = (struct region){.open = true, .of_process = wants_process};
    profile_region_start(of->of_process);
    of->begun = region_clock(of);
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
    of->begun = region_clock(of);
}

uint64_t gasmeter_peek(void)
{
    return used(current());
}

/* ---- gasmark.h ------------------------------------------------------------------ */

/* QEMU's counter sees every mark. */
static void mark_qemu(unsigned mark, void *buffer, unsigned long size)
{
    /* Always fails; that makes a mark harmless. Not read(): it might be metered. */
    (void)syscall(SYS_read, (int)(0xcafebabeU + mark), buffer, size);
}

static void write_number(void *buffer, unsigned long size, uint64_t number)
{
    uint64_t found;

    if (size < sizeof found)
        return;
    memcpy(&found, buffer, sizeof found);
    if (found == GASMARK_NONE)
        memcpy(buffer, &number, sizeof number);
}

/* If QEMU's counter is loaded, its number stays in the buffer; otherwise this meter's is
 * written. */
void gasmeter_mark(unsigned mark, void *buffer, unsigned long size)
{
    uint64_t scope;

    switch (mark) {
    case GASMARK_START:
        mark_qemu(mark, buffer, size);
        gasmeter_start();
        return;
    case GASMARK_STOP: {
        uint64_t units = gasmeter_stop();

        mark_qemu(mark, buffer, size);
        write_number(buffer, size, units);
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
    mark_qemu(mark, buffer, size);
    if (mark == GASMARK_PEEK)
        write_number(buffer, size, gasmeter_peek());
}
