/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_XS_XS_INDEX_H
#define GASPIPE_WORKER_XS_XS_INDEX_H

/*
 * Finds properties and names in long lists. XS keeps an object's properties in one list, and
 * the names of Symbol.for() in 127, so an object with 100,000 keys is quadratic to fill. The
 * patched functions walk mxShortList slots and then ask xs_index.c. The lists stay XS's own,
 * and no index is in snapshots.
 *
 * worker/xs/patches/wide-objects.patch declares what XS calls.
 */

/* Frees all, with the machine. */
void xs_index_close(void);

#endif
