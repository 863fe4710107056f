/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_JSON_JSON_MEMORY_H
#define GASPIPE_BASE_JSON_JSON_MEMORY_H

/*
 * Has jansson keep the small blocks that it frees, at most 160 KiB in each thread. A delivery
 * allocates and frees 140, more than malloc(3) keeps at hand. Call it before jansson is used, and
 * not with sanitizers: they would not notice a block that is used after it was freed.
 */
void json_memory_keep(void);

#endif
