/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/engine_xs_pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

void engine_xs_pages_be_huge(void *bytes, size_t size)
{
    /* The pages at the ends may hold others' bytes. */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = ((uintptr_t)bytes + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)bytes + size) / page * page;

    if (bytes != NULL && start < end)
        (void)madvise((void *)start, end - start, MADV_HUGEPAGE); /* small ones do */
}
