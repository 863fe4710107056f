/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/count_calls.h"

#include "sandbox/syscall_name.h"

#define OTHERS (REPORT_SYSCALLS - 1)

static bool has_name(size_t place)
{
    return place < OTHERS && syscall_name(place) != NULL;
}

static struct count_call others(const uint64_t calls[REPORT_SYSCALLS])
{
    struct count_call all = {"others", 0};

    for (size_t place = 0; place < REPORT_SYSCALLS; place++)
        if (!has_name(place))
            all.times += calls[place];
    return all;
}

bool count_calls_next(const uint64_t calls[REPORT_SYSCALLS], size_t *place, struct count_call *call)
{
    while (*place < OTHERS && (calls[*place] == 0 || !has_name(*place)))
        ++*place;
    if (*place > OTHERS)
        return false;
    *call =
        *place < OTHERS ? (struct count_call){syscall_name(*place), calls[*place]} : others(calls);
    ++*place;
    return call->times > 0;
}
