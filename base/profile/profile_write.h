/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_PROFILE_PROFILE_WRITE_H
#define GASPIPE_BASE_PROFILE_PROFILE_WRITE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/profile/profile.h"

/* Writes profiles as text, after profile_sum(). Each function appends all of it and returns 0, or
 * -1 with ERROR_SYSTEM if out of memory. */

#define PROFILE_NO_CRANK INT64_MIN

/* The delivery that a profile is of. Texts are borrowed. */
struct profile_delivery {
    const char *vat_id, *vat, *method;
    int64_t crank_num, delivery_num; /* crank_num: or PROFILE_NO_CRANK */
};

/* How a frame of a folded stack names its function. */
enum profile_frame {
    PROFILE_FRAME_SOURCE, /* NAME (FILE:LINE) */
    PROFILE_FRAME_MODULE, /* MODULE`NAME, as DTrace has it */
    PROFILE_FRAME_METER,  /* MODULE!NAME: the only place in a stack for the unit, block cost */
    PROFILE_FRAME_NAME,   /* NAME */
};

/* JSON lines for slogreport (docs/profile-format.md): functions by module and name, lines, tree. */
int profile_put_lines(struct buf *out, const struct profile *profile,
                      const struct profile_delivery *delivery, struct error *error);

/* Folded stacks for flame graphs, outermost first, the most expensive stack first. They begin with
 * the delivery's vat and method, if there is one. */
int profile_put_folded(struct buf *out, const struct profile *profile,
                       const struct profile_delivery *delivery, enum profile_frame frame,
                       struct error *error);

/*
 * JSON lines, the most expensive functions and stacks first.
 *
 * {"kind":"object","object":O,"self":N}
 * {"kind":"function","object":O,"function":F,"self":N,"total":N},
 *   with debug information also "file":S and "line":N, where it begins
 * {"kind":"stack","frames":["O`F",...],"self":N}, outermost first
 * {"kind":"line","file":S,"line":N,"function":F,"self":N}, if known
 * {"kind":"summary","instructions":N,"stacks":N}, or "blockCost" for that unit
 *
 * The `self` of each kind add up to the summary's number.
 */
int profile_put_json(struct buf *out, const struct profile *profile, struct error *error);

/* The format of callgrind, version 1, for callgrind_annotate(1) and kcachegrind. `event`: what is
 * counted; NULL: the profile's unit. */
int profile_put_callgrind(struct buf *out, const struct profile *profile, const char *event,
                          struct error *error);

/* "computrons", "instructions", "nanoseconds", "blockCost". */
extern const char *const profile_unit_names[PROFILE_UNITS];

/* Orders for output. They return indices or lines of the profile, for the caller to free; NULL if
 * out of memory. */

/* Functions by module, name and index. */
uint32_t *profile_order_functions(const struct profile *profile);

/* Lines by function in that order, file, line and inlined function. */
const struct profile_line **profile_order_lines(const struct profile *profile,
                                                const uint32_t *functions);

/* Nodes with a cost of their own, the most expensive first. */
uint32_t *profile_order_nodes(const struct profile *profile, size_t *count);

/* Writes a node's callers and the node, outermost first, to `chain`, which has space for all nodes.
 * Returns how many. */
size_t profile_chain(const struct profile *profile, size_t node, uint32_t *chain);

#endif
