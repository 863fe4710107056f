/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_INPUT_SELECTION_H
#define GASPIPE_TOOLS_INPUT_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option/option.h"
#include "slog/model/model.h"

/* Which deliveries a report is about. */

struct range {
    int64_t first, last; /* both included */
    bool set;
};

/* All zeros takes everything. */
struct selection {
    struct option_list vats;  /* ids or names; none: all */
    struct option_list kinds; /* "message", "notify", … or methods; none: all */
    struct range cranks, blocks, runs;
    struct range times; /* of a delivery's start, nanoseconds since the epoch */
    int64_t minimum;    /* total, nanoseconds */
};

/* Each takes an option's value (base/option/option.h) and says what would be right. */

/* struct range: "5", "5-9", "5-", "-9" */
int selection_take_range(void *place, const char *option, char *value, struct error *error);
/* An end of a struct range: seconds since the epoch or "2026-11-21T01:02:03[.5]Z". */
int selection_take_since(void *place, const char *option, char *value, struct error *error);
int selection_take_until(void *place, const char *option, char *value, struct error *error);
/* int64_t, nanoseconds: "0.5", "0.5s", "20ms", "300us" */
int selection_take_duration(void *place, const char *option, char *value, struct error *error);

void selection_free(struct selection *selection);

/* Whether the report is about this delivery. */
bool selection_takes(const struct selection *selection, const struct model_delivery *delivery);

/* Whether it is about this phase or block of the kernel's `run`, as in struct model_delivery. */
bool selection_takes_phase(const struct selection *selection, const struct phase_span *span,
                           uint64_t run);
bool selection_takes_block(const struct selection *selection, const struct phase_block *block,
                           uint64_t run);

bool selection_takes_inbound(const struct selection *selection,
                             const struct model_inbound *inbound);

/* Whether the number is in the range, which takes all when it is not set; MODEL_NONE is in none. */
bool selection_in_range(const struct range *range, int64_t number);

/* Whether it is about the vat of this ID and name. */
bool selection_has_vat(const struct selection *selection, const char *id, const char *name);

/* Says on stderr why a report is empty, when it is: of `all` deliveries `chosen` were taken. */
void selection_explain_none(uint64_t chosen, uint64_t all);

#endif
