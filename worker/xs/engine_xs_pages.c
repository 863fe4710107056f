/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xs/engine_xs_pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of x86-64, and of aarch64 with pages of 4 KiB. */
enum { HUGE_PAGE = 2 << 20 };

void engine_xs_pages_be_huge(void *bytes, size_t size)
{
    uintptr_t page, start, end;

    if (bytes == NULL || size < HUGE_PAGE)
        return;
    page = (uintptr_t)sysconf(_SC_PAGESIZE);
    /* Others' bytes at the beginning are none the worse for it; behind the end may be nothing. */
    start = (uintptr_t)bytes / page * page;
    end = ((uintptr_t)bytes + size) / page * page;
    (void)madvise((void *)start, end - start, MADV_HUGEPAGE); /* small ones do */
}
