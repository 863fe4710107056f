/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_RANK_H
#define GASPIPE_TOOLS_STATS_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "slog/model/model.h"

/*
 * Keeps what was rendered of deliveries until their order is known: all of them, or twice as many
 * as the `top` that are wanted. Each time so many have come, the worse half goes.
 */

struct rank_entry {
    double key;   /* the greater first; NAN last */
    char *words;  /* owned; of a column of words, by which these go, A first; else NULL */
    bool reverse; /* these words go Z first */
    uint64_t number;
    struct buf text;
};

/* A column that can be sorted by, of numbers or of words. */
struct rank_column {
    const char *name;
    double (*value)(const struct model_delivery *delivery);      /* NAN: not said */
    const char *(*words)(const struct model_delivery *delivery); /* NULL: it has numbers */
};

/* The column of this name; NULL when there is none. */
const struct rank_column *rank_find_column(const char *name);

/* The names of all columns, for the user, in `names`. */
void rank_column_names(struct buf *names);

struct rank {
    size_t top;   /* how many to keep; 0: all */
    bool reverse; /* the smallest number first, or Z */
    const struct rank_column *column;
    struct rank_entry *entries; /* owned */
    size_t count, capacity;
    uint64_t seen;
    bool trimmed; /* the first `top` entries are sorted; a delivery has to go before the last of
                     them */
};

/*
 * Whether the delivery will be kept; then *text is where to render it, valid
 * until the next call. -1 when memory ran out.
 */
int rank_add(struct rank *rank, const struct model_delivery *delivery, struct buf **text,
             struct error *error);

/* Sorts the entries, equals in the order in which they came, and frees those after the `top` first.
 */
void rank_sort(struct rank *rank);

void rank_free(struct rank *rank);

#endif
