/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/ring/trace_life.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As get_robust_list(2) has it: each entry's futex lies at the same distance from it. The kernel
 * still reads this when the thread has ended. */
static _Thread_local struct robust_list_head life;

static struct robust_list *entry_of(uint8_t *memory, size_t bell)
{
    return (struct robust_list *)(memory - TRACE_LIFE_SIZE + bell);
}

uint32_t trace_life_thread(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/* One word is written last, so that the list is whole whenever the thread is killed. */
void trace_life_add(uint8_t *memory, size_t bell)
{
    struct robust_list *const entry = entry_of(memory, bell);

    if (life.list.next == NULL) {
        life.list.next = &life.list;
        life.futex_offset = TRACE_LIFE_SIZE;
        (void)syscall(SYS_set_robust_list, &life, sizeof life);
    }
    entry->next = life.list.next;
    __atomic_store_n(&life.list.next, entry, __ATOMIC_RELEASE);
}

void trace_life_remove(uint8_t *memory, size_t bell)
{
    const struct robust_list *const entry = entry_of(memory, bell);

    for (struct robust_list *at = &life.list; at->next != NULL && at->next != &life.list;
         at = at->next)
        if (at->next == entry) {
            __atomic_store_n(&at->next, entry->next, __ATOMIC_RELEASE);
            return;
        }
}
