/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_SELECTION_H
#define GASPIPE_TOOLS_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "slog/model/model.h"

/* Which deliveries a report is about. */

struct range {
    int64_t first, last; /* both included */
    bool set;
};

enum { SELECTION_WORDS = 64 };

/* Words of which one must be met; none: any will do. */
struct words {
    const char *words[SELECTION_WORDS]; /* borrowed from argv */
    size_t count;
};

/* All zeros takes everything. */
struct selection {
    struct words vats;  /* ids or names */
    struct words kinds; /* "message", "notify", … or methods */
    struct range cranks, blocks, runs;
    struct range times; /* of a delivery's start, nanoseconds since the epoch */
    int64_t minimum;    /* total, nanoseconds */
};

/* Each reads an option's value. -1 with ERROR_USAGE, naming what would be right. */
int selection_add_word(struct words *words, const char *word, struct error *error);
/* "5", "5-9", "5-", "-9" */
int selection_range(struct range *range, const char *text, struct error *error);
/* Seconds since the epoch or "2026-11-21T01:02:03[.5]Z"; which end of the range. */
int selection_time(struct range *range, bool first, const char *text, struct error *error);
/* "0.5", "0.5s", "20ms", "300us" */
int selection_duration(int64_t *nanoseconds, const char *text, struct error *error);

/* Whether the report is about this delivery. */
bool selection_takes(const struct selection *selection, const struct model_delivery *delivery);

/* Says on stderr why a report is empty, when it is: of `all` deliveries `chosen` were taken. */
void selection_explain_none(uint64_t chosen, uint64_t all);

#endif
