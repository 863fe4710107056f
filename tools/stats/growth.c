/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/growth.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_member.h"
#include "base/json/json_text.h"

static const char *const measure_names[GROWTH_MEASURES] = {
    [GROWTH_HEAP] = "heapSlots",          [GROWTH_ALLOCATED] = "allocatedBytes",
    [GROWTH_CLIST] = "clistEntries",      [GROWTH_SNAPSHOT] = "snapshotBytes",
    [GROWTH_COLLECTIONS] = "collections", [GROWTH_RELEASED] = "released",
};

/* Names in files: "heapSlots", "allocatedBytes", … */
static const char *growth_measure_name(enum growth_measure measure)
{
    return measure_names[measure];
}

const char *growth_vat_id(const struct growth *growth, size_t vat)
{
    return names_text(&growth->keys, (uint32_t)vat);
}

const char *growth_vat_name(const struct growth *growth, size_t vat)
{
    const char *id = growth_vat_id(growth, vat);

    return id + strlen(id) + 1;
}

/* ---- a vat's points ---- */

static void init_vat(struct growth_vat *vat)
{
    *vat = (struct growth_vat){.stride = 1};
    for (int i = 0; i < GROWTH_MEASURES; i++)
        vat->latest.values[i] = NAN;
    vat->latest.values[GROWTH_COLLECTIONS] = vat->latest.values[GROWTH_RELEASED] = 0;
}

static void range_add(struct growth_range *range, double value)
{
    if (range->count == 0)
        range->first = range->least = range->most = value;
    range->last = value;
    range->least = fmin(range->least, value);
    range->most = fmax(range->most, value);
    range->count++;
}

static void growth_note(struct growth_vat *vat, enum growth_measure measure, double value)
{
    if (isnan(value))
        return;
    vat->latest.values[measure] = value;
    range_add(&vat->ranges[measure], value);
}

/* Drops every second point, and keeps only every second of later ones. */
static void thin_out(struct growth_vat *vat)
{
    for (size_t i = 1; 2 * i < vat->point_count; i++)
        vat->points[i] = vat->points[2 * i];
    vat->point_count = (vat->point_count + 1) / 2;
    vat->stride *= 2;
}

static int keep_point(struct growth_vat *vat)
{
    if (vat->points == NULL)
        vat->points = malloc(GROWTH_POINTS * sizeof *vat->points);
    if (vat->points == NULL)
        return -1;
    if (vat->seen++ % vat->stride != 0)
        return 0;
    if (vat->point_count == GROWTH_POINTS) {
        thin_out(vat);
        if ((vat->seen - 1) % vat->stride != 0)
            return 0;
    }
    vat->points[vat->point_count++] = vat->latest;
    vat->last_kept = vat->seen;
    return 0;
}

/* ---- adding ---- */

static struct growth_vat *growth_vat_of_key(struct growth *growth, uint32_t number)
{
    struct growth_vat *vats;

    if (number < growth->vat_count)
        return &growth->vats[number];
    vats = array_reserve(growth->vats, &growth->vat_capacity, growth->vat_count + 1, sizeof *vats);
    if (vats == NULL)
        return NULL;
    growth->vats = vats;
    init_vat(&vats[growth->vat_count]);
    return &vats[growth->vat_count++];
}

/* Finds or adds the vat of this number and name; NULL when out of memory. */
static struct growth_vat *growth_find_vat(struct growth *growth, const char *id, const char *name)
{
    struct buf *key = &growth->key;
    uint32_t number;

    buf_clear(key);
    buf_append(key, id, strlen(id) + 1);
    buf_append_string(key, name);
    number = buf_failed(key) ? NAMES_NONE : names_intern(&growth->keys, key->data, key->length);
    return number == NAMES_NONE ? NULL : growth_vat_of_key(growth, number);
}

static bool releases(const char *syscall)
{
    static const char *const kinds[] = {"dropImports", "retireImports", "retireExports",
                                        "abandonExports"};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(syscall, kinds[i]) == 0)
            return true;
    }
    return false;
}

static void note_collection(struct growth_vat *vat, const struct model_delivery *delivery)
{
    double released = vat->latest.values[GROWTH_RELEASED];

    for (size_t i = 0; i < delivery->event_count; i++)
        released += releases(delivery->events[i].kind);
    growth_note(vat, GROWTH_COLLECTIONS, vat->latest.values[GROWTH_COLLECTIONS] + 1);
    growth_note(vat, GROWTH_RELEASED, released);
    if (delivery->total > 0 && !delivery->clock_changed)
        vat->collecting += (uint64_t)delivery->total;
}

int growth_add(struct growth *growth, const struct model_delivery *delivery, struct error *error)
{
    struct growth_vat *vat;

    if (delivery->replay || delivery->start == MODEL_NONE)
        return 0;
    vat = growth_find_vat(growth, delivery->vat_id, delivery->vat_name);
    if (vat == NULL || growth->failed)
        return error_memory(error, "how vats grow");
    growth_note(vat, GROWTH_HEAP, delivery->heap_slots);
    growth_note(vat, GROWTH_ALLOCATED, delivery->allocated);
    growth_note(vat, GROWTH_CLIST, (double)delivery->clist_entries);
    if (strcmp(delivery->kind, "bringOutYourDead") == 0)
        note_collection(vat, delivery);
    vat->latest.time = delivery->start;
    return keep_point(vat) == 0 ? 0 : error_memory(error, "how vats grow");
}

/* The latest vat of this number, with any name; NULL if none. */
static struct growth_vat *growth_last_of_id(struct growth *growth, const char *id)
{
    for (size_t i = growth->vat_count; i > 0; i--) {
        if (strcmp(growth_vat_id(growth, i - 1), id) == 0)
            return &growth->vats[i - 1];
    }
    return NULL;
}

void growth_add_phase(struct growth *growth, const struct phase_span *span)
{
    struct growth_vat *vat;

    if (span->phase != PHASE_SNAPSHOT_SAVE || isnan(span->bytes))
        return;
    vat = growth_last_of_id(growth, span->vat_id); /* the line has no name */
    if (vat == NULL)
        return;
    growth_note(vat, GROWTH_SNAPSHOT, span->bytes);
    vat->latest.time = span->start;
    if (keep_point(vat) != 0)
        growth->failed = true;
}

/* ---- what it comes to ---- */

static void append_point(const struct growth_point *point, int64_t zero, struct buf *json)
{
    int64_t since;

    buf_append_byte(json, '[');
    if (zero == 0)
        json_text_nanoseconds(json, point->time);
    else if (__builtin_sub_overflow(point->time, zero, &since))
        buf_append_byte(json, '0');
    else
        json_text_integer(json, since);
    for (int i = 0; i < GROWTH_MEASURES; i++) {
        if (isfinite(point->values[i]))
            buf_printf(json, ",%.17g", point->values[i]);
        else
            buf_append_string(json, ",null");
    }
    buf_append_byte(json, ']');
}

void growth_append_points(const struct growth *growth, size_t vat, int64_t zero, struct buf *json)
{
    const struct growth_vat *of = &growth->vats[vat];

    buf_append_byte(json, '[');
    for (size_t i = 0; i < of->point_count; i++) {
        buf_append_string(json, i > 0 ? "," : "");
        append_point(&of->points[i], zero, json);
    }
    if (of->last_kept < of->seen && of->point_count > 0) {
        buf_append_byte(json, ',');
        append_point(&of->latest, zero, json);
    }
    buf_append_byte(json, ']');
}

void growth_free(struct growth *growth)
{
    for (size_t i = 0; i < growth->vat_count; i++)
        free(growth->vats[i].points);
    free(growth->vats);
    names_free(&growth->keys);
    buf_free(&growth->key);
    *growth = (struct growth){0};
}

/* Measures counted from the first line of a file. */
static const bool is_counted[GROWTH_MEASURES] = {
    [GROWTH_CLIST] = true, [GROWTH_COLLECTIONS] = true, [GROWTH_RELEASED] = true};

/* The count before this file; 0 for other measures. */
static double counted_before(const struct growth_vat *vat, int measure)
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

/* Moves a point by earlier counts; a measure not yet known in its file keeps its earlier value. */
static struct growth_point move_point(const struct growth_point *point,
                                      const struct growth_vat *before)
{
    struct growth_point after = *point;

    for (int i = 0; i < GROWTH_MEASURES; i++) {
        after.values[i] += counted_before(before, i);
        if (isnan(after.values[i]))
            after.values[i] = before->latest.values[i];
    }
    return after;
}

/* Keeps one point for each interval between the first and the last. True if the last one stays. */
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
        points[vat->point_count++] = move_point(&next->points[i], vat);
    return 0;
}

/*
 * Appends a vat's growth from another file. Counted measures continue. At most GROWTH_POINTS
 * points stay, spread evenly over the whole time. -1 when out of memory.
 */
static int growth_join(struct growth_vat *vat, const struct growth_vat *next)
{
    if (next->point_count == 0)
        return 0;
    if (join_points(vat, next) != 0)
        return -1;
    for (int i = 0; i < GROWTH_MEASURES; i++)
        join_range(&vat->ranges[i], &next->ranges[i], counted_before(vat, i));
    vat->latest = move_point(&next->latest, vat);
    vat->collecting += next->collecting;
    /* The latest point follows the others unless it is among them. */
    vat->seen = 1;
    vat->last_kept = spread_out(vat);
    return 0;
}

enum { NANOSECOND_DIGITS = 9 };

/* ---- writing ---- */

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
    json_member_text(out, "vatID", growth_vat_id(growth, vat));
    json_member_text(out, "label", growth_vat_name(growth, vat));
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

/* Parses seconds with nine decimals: more digits than a double holds. */
static bool take_point_time(int64_t *nanoseconds, struct scan_span text)
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
        !take_point_time(&point->time, value))
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

/* At most GROWTH_POINTS and the latest one. */
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

/* Appends a string; false if it is not one. */
static bool take_growth_text(struct buf *text, struct scan_span value)
{
    const struct scan_span string = scan_string(value);

    if (string.at == NULL)
        return false;
    scan_unescape(string, text);
    return buf_string(text) != NULL;
}

/* Only the file in which a vat was created has its name. */
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

    if (next.points != NULL && take_growth_text(&id, scan_get(line, "vatID")) &&
        take_growth_text(&name, scan_get(line, "label")) && take_vat(&next, line))
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
