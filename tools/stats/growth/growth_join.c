/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/growth/growth_join.h"

#include <math.h>
#include <stdlib.h>

/* Counted since the first line of a file. */
static const bool is_counted[GROWTH_MEASURES] = {
    [GROWTH_CLIST] = true, [GROWTH_COLLECTIONS] = true, [GROWTH_RELEASED] = true};

/* What was counted before; 0 of other measures. */
static double offset_of(const struct growth_vat *vat, int measure)
{
    const double before = vat->latest.values[measure];

    return is_counted[measure] && isfinite(before) ? before : 0;
}

static void join_range(struct growth_range *range, const struct growth_range *next, double offset)
{
    if (next->count == 0)
        return;
    if (range->count == 0) {
        range->first = next->first + offset;
        range->least = next->least + offset;
        range->most = next->most + offset;
    }
    range->last = next->last + offset;
    range->least = fmin(range->least, next->least + offset);
    range->most = fmax(range->most, next->most + offset);
    range->count += next->count;
}

/* A point that does not say a measure, since it was not said before it in its file. */
static struct growth_point moved(const struct growth_point *point, const struct growth_vat *before)
{
    struct growth_point after = *point;

    for (int i = 0; i < GROWTH_MEASURES; i++) {
        after.values[i] += offset_of(before, i);
        if (isnan(after.values[i]))
            after.values[i] = before->latest.values[i];
    }
    return after;
}

/* One point for each piece of the time between the first and the last. Whether the last one
 * stays. */
static bool spread_out(struct growth_vat *vat)
{
    const size_t count = vat->point_count;
    size_t last_kept = 0;
    const int64_t begin = vat->points[0].time;
    const double length = (double)vat->points[count - 1].time - (double)begin;
    int64_t last_piece = -1;

    if (count <= GROWTH_POINTS)
        return true;
    vat->point_count = 0;
    for (size_t i = 0; i < count; i++) {
        const double since = (double)vat->points[i].time - (double)begin;
        const int64_t piece =
            length > 0 ? (int64_t)(since / length * (GROWTH_POINTS - 1)) : (int64_t)i;

        if (piece <= last_piece || vat->point_count == GROWTH_POINTS)
            continue;
        vat->points[vat->point_count++] = vat->points[i];
        last_piece = piece;
        last_kept = i;
    }
    return last_kept + 1 == count;
}

static int join_points(struct growth_vat *vat, const struct growth_vat *next)
{
    const size_t count = vat->point_count + next->point_count + 1;
    struct growth_point *points = realloc(vat->points, count * sizeof *points);

    if (points == NULL)
        return -1;
    vat->points = points;
    for (size_t i = 0; i < next->point_count; i++)
        points[vat->point_count++] = moved(&next->points[i], vat);
    return 0;
}

int growth_join(struct growth_vat *vat, const struct growth_vat *next)
{
    if (next->point_count == 0)
        return 0;
    if (join_points(vat, next) != 0)
        return -1;
    for (int i = 0; i < GROWTH_MEASURES; i++)
        join_range(&vat->ranges[i], &next->ranges[i], offset_of(vat, i));
    vat->latest = moved(&next->latest, vat);
    vat->collecting += next->collecting;
    /* The latest one is shown behind the others, unless it is among them. */
    vat->seen = 1;
    vat->last_kept = spread_out(vat);
    return 0;
}
