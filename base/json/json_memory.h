/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_JSON_MEMORY_H
#define GASPIPE_BASE_JSON_JSON_MEMORY_H

/*
 * Has jansson keep small blocks that it gives back, for values of the same size that come next: a
 * delivery takes and gives back some two hundred, more than malloc(3) keeps at hand. Each thread
 * keeps its own, 160 KiB at most. To be called before jansson is used, and not under sanitizers,
 * which would not see that a block is used after it was given back.
 */
void json_memory_keep(void);

#endif
