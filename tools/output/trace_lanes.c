/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output/trace_lanes.h"

#include <stdlib.h>

#include "base/array.h"

enum { STAMP_NANOSECONDS = 1000, SLEW_SHARE = 1000 };

struct trace_lane {
    int64_t end;       /* of the last span that it shows */
    int64_t tolerance; /* by which the next one may begin before that */
    uint32_t next;     /* of the same track, + 1; 0: none */
    uint32_t extra;    /* as in struct trace_place */
};

/* The place of the number of a track's first lane; NULL when memory ran out. */
static uint32_t *first_of(struct trace_lanes *lanes, uint32_t track)
{
    uint32_t *first = array_reserve(lanes->first, &lanes->track_capacity, (size_t)track + 1,
                                    sizeof *lanes->first);

    if (first == NULL)
        return NULL;
    lanes->first = first;
    while (lanes->track_count <= track)
        first[lanes->track_count++] = 0;
    return &first[track];
}

/* A lane behind all others of its track, whose last one is `last` + 1, or 0 without one. */
static int add_lane(struct trace_lanes *lanes, uint32_t *first, uint32_t last)
{
    struct trace_lane *array =
        array_reserve(lanes->lanes, &lanes->capacity, lanes->count + 1, sizeof *array);

    if (array == NULL)
        return -1;
    lanes->lanes = array;
    array[lanes->count++] = (struct trace_lane){.end = INT64_MIN};
    if (last == 0) {
        *first = (uint32_t)lanes->count;
        return 0;
    }
    array[last - 1].next = (uint32_t)lanes->count;
    array[lanes->count - 1].extra = ++lanes->extra_count;
    return 0;
}

static bool fits_lane(const struct trace_lane *lane, int64_t from)
{
    return lane->end == INT64_MIN || from >= lane->end - lane->tolerance;
}

int trace_lanes_place(struct trace_lanes *lanes, uint32_t track, int64_t from, int64_t length,
                      struct trace_place *place)
{
    uint32_t *first = first_of(lanes, track), last = 0, at;
    struct trace_lane *lane;

    if (first == NULL)
        return -1;
    *place = (struct trace_place){0};
    for (at = *first; at != 0 && !fits_lane(&lanes->lanes[at - 1], from);
         at = lanes->lanes[at - 1].next) {
        place->lane++;
        last = at;
    }
    if (at == 0) {
        if (add_lane(lanes, first, last) != 0)
            return -1;
        place->new_lane = true;
        at = (uint32_t)lanes->count;
    }
    lane = &lanes->lanes[at - 1];
    place->extra = lane->extra;
    place->from = lane->end > from ? lane->end : from;
    lane->end = place->from + length;
    lane->tolerance = STAMP_NANOSECONDS + length / SLEW_SHARE;
    return 0;
}

void trace_lanes_free(struct trace_lanes *lanes)
{
    free(lanes->lanes);
    free(lanes->first);
    *lanes = (struct trace_lanes){0};
}
