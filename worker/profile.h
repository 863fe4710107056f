/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_PROFILE_H
#define GASPIPE_WORKER_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * The cost of one command by function, by chain of callers and by source line. The engine
 * reports calls and costs; the profile knows no engine. Functions, nodes and lines are small
 * numbers. A node is a function together with the node that called it; node 0 is the engine
 * itself. Line 0 is no line. If memory is exhausted, all calls still work and
 * profile_encode() writes null.
 */
struct profile;

/* NULL when memory ran out. */
struct profile *profile_new(void);
void profile_free(struct profile *profile); /* NULL is allowed */

/* Starts a new command: all nodes and lines cost 0. Functions keep their numbers. */
void profile_begin(struct profile *profile);

/* Two numbers that identify a function for as long as the profile lives. */
struct profile_key {
    uint64_t a, b;
};

/* Returns the function's number. If *known is false, call profile_name_function() next. */
uint32_t profile_function(struct profile *profile, struct profile_key key, bool *known);

/* The strings are copied; `file` NULL: native code. `line` is where the function begins. */
void profile_name_function(struct profile *profile, uint32_t function, const char *name,
                           const char *file, uint32_t line);

/* Counts a call that profile_call() saw recently, and returns its node. False: call
 * profile_function() and profile_call() instead. */
bool profile_call_again(struct profile *profile, uint32_t caller, struct profile_key key,
                        uint32_t *node);

/* Returns the node of `function` called from node `caller`, and counts the call. `key` is the
 * function's. */
uint32_t profile_call(struct profile *profile, uint32_t caller, struct profile_key key,
                      uint32_t function);

/* Returns the number of a line; `file` is the engine's number for it. */
uint32_t profile_line(struct profile *profile, uint32_t file, uint32_t line);

/* Names a file, copied, after profile_knows_file() returned false for it. */
bool profile_knows_file(const struct profile *profile, uint32_t file);
void profile_name_file(struct profile *profile, uint32_t file, const char *name);

/* Charges a cost to the node and the line. */
void profile_charge(struct profile *profile, uint32_t node, uint32_t line, int64_t computrons,
                    uint64_t instructions);

/* Returns the computrons charged since profile_begin(). */
int64_t profile_charged(const struct profile *profile);

/*
 * Appends one JSON object, the member `profile` of a meter record (docs/profile-format.md):
 * {"functions":[[NAME,FILE,LINE],...],"nodes":[[CALLER,FUNCTION,CALLS,COMPUTRONS,INSTRUCTIONS],
 * ...],"lines":[[FILE,LINE,COMPUTRONS,INSTRUCTIONS],...]}, in the order in which they were first
 * met. FUNCTION and CALLER are indexes; the first node is the engine itself.
 */
void profile_encode(const struct profile *profile, struct buf *json);

#endif
