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
 * The growth of vats: heaps, c-lists and snapshots over time, and garbage collections. All zeros
 * is empty. A vat number with two names, as in two runs, is two vats.
 *
 * A collection is a delivery of bringOutYourDead, in which the engine collects on demand. It
 * releases the references that its dropImports, retireImports, retireExports and abandonExports
 * name. Other collections of the engine are not in slogfiles.
 */
enum growth_measure {
    GROWTH_HEAP,        /* slots in use in the engine's heap, after a delivery */
    GROWTH_ALLOCATED,   /* bytes that the engine allocated for slots and chunks */
    GROWTH_CLIST,       /* entries of the c-list, since the first line of the slogfile */
    GROWTH_SNAPSHOT,    /* uncompressed bytes of a heap snapshot */
    GROWTH_COLLECTIONS, /* number so far */
    GROWTH_RELEASED,    /* syscalls that released references, so far */
    GROWTH_MEASURES,
};

struct growth_range {
    uint64_t count; /* number of values */
    double first, last, least, most;
};

struct growth_point {
    int64_t time;                   /* since the epoch, nanoseconds */
    double values[GROWTH_MEASURES]; /* NAN if absent */
};

/* Points kept of each vat, spread over all; at least half as many if there were. */
enum { GROWTH_POINTS = 256 };

struct growth_vat {
    struct growth_range ranges[GROWTH_MEASURES];
    uint64_t collecting;         /* nanoseconds in collections */
    struct growth_point *points; /* by time; owned */
    size_t point_count;
    uint64_t seen, stride;      /* points seen; each `stride`-th is kept */
    uint64_t last_kept;         /* `seen` when the last one was kept */
    struct growth_point latest; /* values so far */
};

struct growth {
    struct names keys; /* id, '\0', name */
    struct buf key;    /* reused for lookups */
    struct growth_vat *vats;
    size_t vat_count, vat_capacity;
    bool failed; /* out of memory while a phase was added */
};

/* Adds a delivery unless it is a replay. -1 when out of memory. */
int growth_add(struct growth *growth, const struct model_delivery *delivery, struct error *error);

/* Adds a snapshot. Failure shows when the next delivery is added. */
void growth_add_phase(struct growth *growth, const struct phase_span *span);

const char *growth_vat_id(const struct growth *growth, size_t vat);
const char *growth_vat_name(const struct growth *growth, size_t vat);

/*
 * Appends a JSON array of points, the latest last: [nanoseconds since `zero`, heap, allocated,
 * clist, snapshot, collections, released], null if not known yet. With `zero` 0 the first is
 * seconds since the epoch.
 */
void growth_append_points(const struct growth *growth, size_t vat, int64_t zero, struct buf *json);

void growth_free(struct growth *growth);

/*
 * The growth of a vat as a JSON line, so that parts can be joined:
 *
 *     {"kind":"growth","vatID":"v1","label":"bank",
 *      "heapSlots":{"count":N,"first":N,"last":N,"least":N,"most":N},...,"collecting":SECONDS,
 *      "points":[[SECONDS,HEAP,ALLOCATED,CLIST,SNAPSHOT,COLLECTIONS,RELEASED],...]}
 *
 * A measure without values is left out, and null in a point.
 */

/* Appends a vat's line. */
void growth_file_put(const struct growth *growth, size_t vat, struct buf *out);

/*
 * Appends a line to earlier growth: numbers counted from the beginning of a file continue. -1 if
 * it is not such a line.
 */
int growth_file_take(struct growth *growth, struct scan_span line);

/* The time of the earliest point of all vats, nanoseconds since the epoch; INT64_MAX if none. */
int64_t growth_file_begin(const struct growth *growth);

#endif
