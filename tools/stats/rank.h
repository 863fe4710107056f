/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_RANK_H
#define GASPIPE_TOOLS_STATS_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/option/option.h"
#include "slog/model/model.h"

/*
 * Keeps what was rendered of deliveries until their order is known: all of them, or twice as many
 * as the `top` that are wanted. Each time so many have come, the worse half goes.
 */

struct rank_entry {
    double key;   /* the largest first; NAN last */
    char *words;  /* owned; sort key of a column of words, A first; else NULL */
    bool reverse; /* words sort Z first */
    uint64_t number;
    struct buf text;
    /* In the text (tools/stats/delivery_rows.h): where the cell of the wait for a CPU begins and
     * ends, and where the row ends. */
    size_t cell, cell_end, row_end;
    bool waited;
};

/* A column to sort by, of numbers or of words. */
struct rank_column {
    const char *name;
    double (*value)(const struct model_delivery *delivery);      /* NAN if absent */
    const char *(*words)(const struct model_delivery *delivery); /* NULL if it has numbers */
};

/* The column of this name; NULL if none. */
const struct rank_column *rank_find_column(const char *name);

/* Appends the names of all columns, and tries each as a suggestion. */
void rank_column_names(struct buf *names, struct similar *similar);

struct rank {
    size_t top;   /* number to keep; 0: all */
    bool reverse; /* smallest number or Z first */
    const struct rank_column *column;
    struct rank_entry *entries; /* owned */
    size_t count, capacity;
    uint64_t seen;
    bool trimmed; /* the first `top` entries are sorted; a delivery has to go before the last of
                     them */
};

/*
 * Returns 1 if the delivery is kept; render it to the text of *entry, valid until the next call. 0
 * if not, -1 when out of memory.
 */
int rank_add(struct rank *rank, const struct model_delivery *delivery, struct rank_entry **entry,
             struct error *error);

/* Sorts the entries, equals in the order in which they came, and frees those after the `top` first.
 */
void rank_sort(struct rank *rank);

void rank_free(struct rank *rank);

#endif
