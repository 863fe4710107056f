/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_PROFILE_H
#define GASPIPE_WORKER_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * What one command cost by function, by chain of callers and by source line. An engine tells it
 * who is called and what has been spent; it knows no engine.
 *
 * Functions, nodes and lines are small numbers. Node 0 is the engine itself, outside of any
 * function; a node is a function together with the node that called it. Line 0 is no line.
 * When memory runs out, all calls go on and profile_encode() writes null.
 */
struct profile;

/* NULL when memory ran out. */
struct profile *profile_new(void);
void profile_free(struct profile *profile); /* NULL is allowed */

/* A new command: no node and no line has cost anything. Functions keep their numbers. */
void profile_begin(struct profile *profile);

/* Two numbers that tell a function from all others, for as long as the profile lives. */
struct profile_key {
    uint64_t a, b;
};

/* The function's number. False in *known: it is new, profile_name_function() has to follow. */
uint32_t profile_function(struct profile *profile, struct profile_key key, bool *known);

/* The strings are copied; `file` NULL: native code. `line` is where the function begins. */
void profile_name_function(struct profile *profile, uint32_t function, const char *name,
                           const char *file, uint32_t line);

/*
 * The node of the function with this key called from that node, and one more call of it, where
 * profile_call() has told of that lately; false: profile_function() and profile_call() have to.
 */
bool profile_call_again(struct profile *profile, uint32_t caller, struct profile_key key,
                        uint32_t *node);

/* The node of that function called from that node, and one more call of it. `key` is the
 * function's. */
uint32_t profile_call(struct profile *profile, uint32_t caller, struct profile_key key,
                      uint32_t function);

/* The number of a line of a file, which is known by a number of the engine's. */
uint32_t profile_line(struct profile *profile, uint32_t file, uint32_t line);

/* The file's name, copied, the first time that profile_knows_file() is false for it. */
bool profile_knows_file(const struct profile *profile, uint32_t file);
void profile_name_file(struct profile *profile, uint32_t file, const char *name);

/* Spent in that node, at that line. */
void profile_charge(struct profile *profile, uint32_t node, uint32_t line, int64_t computrons,
                    uint64_t instructions);

/* Computrons that were charged since profile_begin(). */
int64_t profile_charged(const struct profile *profile);

/*
 * Appends one JSON object, the member `profile` of a meter record (docs/profile-format.md):
 * {"functions":[[NAME,FILE,LINE],...],"nodes":[[CALLER,FUNCTION,CALLS,COMPUTRONS,INSTRUCTIONS],
 * ...],"lines":[[FILE,LINE,COMPUTRONS,INSTRUCTIONS],...]}, in the order in which they were first
 * met. FUNCTION and CALLER are indexes; the first node is the engine itself.
 */
void profile_encode(const struct profile *profile, struct buf *json);

#endif
