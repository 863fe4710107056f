/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_ENGINE_XS_PAGES_H
#define GASPIPE_WORKER_XS_ENGINE_XS_PAGES_H

#include <stddef.h>

/*
 * Asks the system to back this part of the heap, which has not been written to yet, by huge pages:
 * garbage collection goes through all of it, and is faster with fewer pages. The first use of any
 * byte then makes 2 MiB resident: of the slots XS writes to all anyway; of the chunks, which fill
 * up from the bottom, this is at most one page too many. It changes nothing where there are none.
 */
void engine_xs_pages_be_huge(void *bytes, size_t size);

#endif
