/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_INPUT_SELECTION_H
#define GASPIPE_TOOLS_INPUT_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option/option.h"
#include "slog/model/model.h"
#include "slog/read/names.h"

/* Selects the deliveries of a report. */

struct range {
    int64_t first, last; /* both included */
    bool set;
};

/* All zeros selects everything. */
struct selection {
    struct option_list vats;  /* IDs or names; none: all */
    struct option_list kinds; /* "message", "notify", … or methods; none: all */
    struct range cranks, blocks, runs;
    struct range times; /* of a delivery's start, nanoseconds since the epoch */
    int64_t minimum;    /* total, nanoseconds */
    /* Kinds and methods of all deliveries asked about; NULL without `kinds`. Owned. */
    struct names *seen;
};

/* Each parses an option's value (base/option/option.h). */

/* struct range: "5", "5-9", "5-", "-9" */
int selection_take_range(void *place, const char *option, char *value, struct error *error);
/* One end of a struct range: seconds since the epoch or "2026-11-21T01:02:03[.5]Z". */
int selection_take_since(void *place, const char *option, char *value, struct error *error);
int selection_take_until(void *place, const char *option, char *value, struct error *error);
/* int64_t, nanoseconds: "0.5", "0.5s", "20ms", "300us" */
int selection_take_duration(void *place, const char *option, char *value, struct error *error);

void selection_free(struct selection *selection);

/* True if this delivery is selected. */
bool selection_takes(const struct selection *selection, const struct model_delivery *delivery);

/* True if this phase or block of the kernel's `run` is selected. */
bool selection_takes_phase(const struct selection *selection, const struct phase_span *span,
                           uint64_t run);
bool selection_takes_block(const struct selection *selection, const struct phase_block *block,
                           uint64_t run);

bool selection_takes_inbound(const struct selection *selection,
                             const struct model_inbound *inbound);

/*
 * True if the number is in the range; a range that is not set contains all; MODEL_NONE is in no
 * other.
 */
bool selection_in_range(const struct range *range, int64_t number);

/* True if the vat of this ID and name is selected. */
bool selection_has_vat(const struct selection *selection, const char *id, const char *name);

/* Call once the options are read. -1 when out of memory. */
int selection_begin(struct selection *selection, struct error *error);

/* Reports on stderr which of `kinds` no delivery had. */
void selection_explain_kinds(const struct selection *selection);

/* The same, and why a report is empty: `chosen` of `all` deliveries were selected. */
void selection_explain(const struct selection *selection, uint64_t chosen, uint64_t all);

#endif
