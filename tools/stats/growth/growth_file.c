/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/growth/growth_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"
#include "tools/stats/growth/growth_join.h"

enum { NANOSECOND_DIGITS = 9 };

/* ---- writing ---- */

static void put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    json_text_string(out, text, strlen(text));
}

static void put_range(struct buf *out, const char *name, const struct growth_range *range)
{
    if (range->count == 0)
        return;
    buf_printf(out,
               ",\"%s\":{\"count\":%" PRIu64 ",\"first\":%.17g,\"last\":%.17g,\"least\":%.17g,"
               "\"most\":%.17g}",
               name, range->count, range->first, range->last, range->least, range->most);
}

void growth_file_put(const struct growth *growth, size_t vat, struct buf *out)
{
    const struct growth_vat *of = &growth->vats[vat];

    buf_append_string(out, "{\"kind\":\"growth\"");
    put_text(out, "vatID", growth_vat_id(growth, vat));
    put_text(out, "label", growth_vat_name(growth, vat));
    for (int i = 0; i < GROWTH_MEASURES; i++)
        put_range(out, growth_measure_name((enum growth_measure)i), &of->ranges[i]);
    buf_append_string(out, ",\"collecting\":");
    json_text_nanoseconds(out, of->collecting > INT64_MAX ? INT64_MAX : (int64_t)of->collecting);
    buf_append_string(out, ",\"points\":");
    growth_append_points(growth, vat, 0, out);
    buf_append_string(out, "}\n");
}

/* ---- reading ---- */

static bool take_range(struct growth_range *range, struct scan_span value)
{
    int64_t count;

    if (value.at == NULL)
        return true;
    if (!scan_decimal(scan_get(value, "count"), 0, &count) || count <= 0 ||
        !scan_double(scan_get(value, "first"), &range->first) ||
        !scan_double(scan_get(value, "last"), &range->last) ||
        !scan_double(scan_get(value, "least"), &range->least) ||
        !scan_double(scan_get(value, "most"), &range->most))
        return false;
    range->count = (uint64_t)count;
    return true;
}

/* Seconds with nine decimals, more digits than a double has. */
static bool take_time(int64_t *nanoseconds, struct scan_span text)
{
    const char *point = text.at != NULL ? memchr(text.at, '.', text.length) : NULL;
    struct scan_span seconds = text, rest = {0};
    int64_t whole, fraction;

    if (point == NULL)
        return scan_decimal(text, NANOSECOND_DIGITS, nanoseconds);
    seconds.length = (size_t)(point - text.at);
    rest = (struct scan_span){point + 1, text.length - seconds.length - 1};
    return rest.length == NANOSECOND_DIGITS && scan_decimal(seconds, 0, &whole) &&
           scan_decimal(rest, 0, &fraction) && whole >= 0 && fraction >= 0 &&
           !__builtin_mul_overflow(whole, (int64_t)1000000000, nanoseconds) &&
           !__builtin_add_overflow(*nanoseconds, fraction, nanoseconds);
}

static bool take_point(struct growth_point *point, struct scan_span text)
{
    struct scan_cursor cursor;
    struct scan_span value;

    if (!scan_open(text, '[', &cursor) || scan_element(&cursor, &value) != SCAN_FOUND ||
        !take_time(&point->time, value))
        return false;
    for (int i = 0; i < GROWTH_MEASURES; i++) {
        if (scan_element(&cursor, &value) != SCAN_FOUND)
            return false;
        point->values[i] = NAN;
        if (!scan_is(value, "null") && !scan_double(value, &point->values[i]))
            return false;
    }
    return true;
}

/* As many as a vat has at most, and the latest one. */
static bool take_points(struct growth_vat *vat, struct scan_span text)
{
    struct scan_cursor cursor;
    struct scan_span point;
    enum scan_step step;

    if (!scan_open(text, '[', &cursor))
        return false;
    while ((step = scan_element(&cursor, &point)) == SCAN_FOUND)
        if (vat->point_count > GROWTH_POINTS ||
            !take_point(&vat->points[vat->point_count++], point))
            return false;
    if (step != SCAN_END || vat->point_count == 0)
        return false;
    vat->latest = vat->points[vat->point_count - 1];
    return true;
}

static bool take_vat(struct growth_vat *vat, struct scan_span line)
{
    int64_t collecting;

    for (int i = 0; i < GROWTH_MEASURES; i++)
        if (!take_range(&vat->ranges[i],
                        scan_get(line, growth_measure_name((enum growth_measure)i))))
            return false;
    if (!scan_decimal(scan_get(line, "collecting"), NANOSECOND_DIGITS, &collecting) ||
        collecting < 0)
        return false;
    vat->collecting = (uint64_t)collecting;
    return take_points(vat, scan_get(line, "points"));
}

/* Appends a string; false: it is none. */
static bool take_text(struct buf *text, struct scan_span value)
{
    const struct scan_span string = scan_string(value);

    if (string.at == NULL)
        return false;
    scan_unescape(string, text);
    return buf_string(text) != NULL;
}

/* Files say a vat's name when it is created: those that come later do not. */
static struct growth_vat *of_line(struct growth *growth, const char *id, const char *name)
{
    struct growth_vat *vat = name[0] == '\0' ? growth_last_of_id(growth, id) : NULL;

    return vat != NULL ? vat : growth_find_vat(growth, id, name);
}

int growth_file_take(struct growth *growth, struct scan_span line)
{
    struct growth_vat next = {.points = calloc(GROWTH_POINTS + 1, sizeof *next.points)};
    struct growth_vat *vat = NULL;
    struct buf id = {0}, name = {0};
    int result = -1;

    if (next.points != NULL && take_text(&id, scan_get(line, "vatID")) &&
        take_text(&name, scan_get(line, "label")) && take_vat(&next, line))
        vat = of_line(growth, id.data, name.data);
    if (vat != NULL)
        result = growth_join(vat, &next);
    free(next.points);
    buf_free(&id);
    buf_free(&name);
    return result;
}

int64_t growth_file_begin(const struct growth *growth)
{
    int64_t begin = INT64_MAX;

    for (size_t i = 0; i < growth->vat_count; i++)
        if (growth->vats[i].point_count > 0 && growth->vats[i].points[0].time < begin)
            begin = growth->vats[i].points[0].time;
    return begin;
}
