/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_PROTO_POLL_PAGE_H
#define GASPIPE_PROTO_POLL_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * What a supervisor tells its workers in memory that they share: which of them polls its pipe,
 * because the next frame is for that one and comes soon. To be woken takes longer than many a
 * delivery where processors are virtual, and whoever has slept finds its caches cold. A worker on
 * the supervisor's own processor would only be in its way.
 */
struct poll_page {
    _Atomic int32_t worker;    /* the ID of the process; 0: none is to poll */
    _Atomic int32_t processor; /* the supervisor's */
};

/* Between two looks at the pipe: some hundred nanoseconds. */
static inline void poll_page_pause(void)
{
    for (int i = 0; i < 16; i++) {
#ifdef __x86_64__
        __asm__ volatile("pause");
#else
        __asm__ volatile("yield");
#endif
    }
}

#endif
