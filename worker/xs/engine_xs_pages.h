/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_ENGINE_XS_PAGES_H
#define GASPIPE_WORKER_XS_ENGINE_XS_PAGES_H

#include <stddef.h>

/*
 * Asks the system to back this part of the heap, which has not been written to yet, by huge pages:
 * all slots, and the chunks that a snapshot has. Garbage collection goes through these again and
 * again, and is faster with fewer pages. The chunks behind them are used once between two
 * collections: small pages are filled with zeros when they are needed, and then in the cache.
 * Nothing changes where there are no huge pages.
 */
void engine_xs_pages_be_huge(void *bytes, size_t size);

#endif
