/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_STATS_GROWTH_H
#define GASPIPE_TOOLS_STATS_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json/scan.h"
#include "slog/model/model.h"
#include "slog/read/names.h"

/*
 * How vats grow: their heaps, c-lists and snapshots over time, and what garbage collection there
 * was. All zeros is the beginning. Vats of one number that have two names, as in two runs, are two.
 *
 * A collection is a delivery of bringOutYourDead, in which the engine collects on demand, and what
 * it releases are the references that its dropImports, retireImports, retireExports and
 * abandonExports name. The engine's other collections leave no trace in a slogfile.
 */
enum growth_measure {
    GROWTH_HEAP,        /* slots in use in the engine's heap, after a delivery */
    GROWTH_ALLOCATED,   /* bytes that the engine has taken for slots and chunks */
    GROWTH_CLIST,       /* entries of the c-list, since the first line of the slogfile */
    GROWTH_SNAPSHOT,    /* bytes of a heap snapshot, not compressed */
    GROWTH_COLLECTIONS, /* how many there were so far */
    GROWTH_RELEASED,    /* syscalls that released references, so far */
    GROWTH_MEASURES,
};

struct growth_range {
    uint64_t count; /* how many values came */
    double first, last, least, most;
};

struct growth_point {
    int64_t time;                   /* since the epoch, nanoseconds */
    double values[GROWTH_MEASURES]; /* NAN: not said */
};

/* Of each vat, points that are spread over all that came: at least half as many, if there were. */
enum { GROWTH_POINTS = 256 };

struct growth_vat {
    struct growth_range ranges[GROWTH_MEASURES];
    uint64_t collecting;         /* nanoseconds in collections */
    struct growth_point *points; /* by time; owned */
    size_t point_count;
    uint64_t seen, stride;      /* points that came; each how-manieth is kept */
    uint64_t last_kept;         /* `seen` with the last one kept */
    struct growth_point latest; /* values so far */
};

struct growth {
    struct names keys; /* id, '\0', name */
    struct buf key;    /* to look one up, with its memory kept */
    struct growth_vat *vats;
    size_t vat_count, vat_capacity;
    bool failed; /* memory ran out while a phase was added */
};

/* Takes in a delivery that is not a replay. -1 when memory ran out. */
int growth_add(struct growth *growth, const struct model_delivery *delivery, struct error *error);

/* Takes in a snapshot. Failure shows when the next delivery is added. */
void growth_add_phase(struct growth *growth, const struct phase_span *span);

const char *growth_vat_id(const struct growth *growth, size_t vat);
const char *growth_vat_name(const struct growth *growth, size_t vat);

/*
 * Appends a JSON array of points, the last of which is the latest: [nanoseconds since `zero`, heap,
 * allocated, clist, snapshot, collections, released], null: not said yet. With `zero` 0 the
 * first is seconds since the epoch.
 */
void growth_append_points(const struct growth *growth, size_t vat, int64_t zero, struct buf *json);

void growth_free(struct growth *growth);

/*
 * How a vat grew, as a JSON line, so that what was read in parts can be joined:
 * {"kind":"growth","vatID":"v1","label":"bank",
 *  "heapSlots":{"count":N,"first":N,"last":N,"least":N,"most":N},...,"collecting":SECONDS,
 *  "points":[[SECONDS,HEAP,ALLOCATED,CLIST,SNAPSHOT,COLLECTIONS,RELEASED],...]}
 * A measure of which nothing was said is not there, and null in a point.
 */

/* Appends the line of a vat. */
void growth_file_put(const struct growth *growth, size_t vat, struct buf *out);

/*
 * Joins a line to what came before, of which it is the continuation: what is counted since the
 * first line of a file is added up. -1 when it is no such line.
 */
int growth_file_take(struct growth *growth, struct scan_span line);

/* The time of the earliest point of any vat, nanoseconds since the epoch; INT64_MAX: there is
 * none. */
int64_t growth_file_begin(const struct growth *growth);

#endif
