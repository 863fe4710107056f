/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_JSON_ARENA_H
#define GASPIPE_WORKER_NEAR_JSON_ARENA_H

/*
 * Memory for jansson that is the same at the beginning of each delivery: what malloc() does
 * depends on all that was freed before, and would show in the count of instructions.
 */

/* To be called once, before jansson is used. */
void json_arena_install(void);

/* All values are gone: the next is made where the first was. */
void json_arena_reset(void);

#endif
