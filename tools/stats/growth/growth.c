/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/growth/growth.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_text.h"

static const char *const measure_names[GROWTH_MEASURES] = {
    [GROWTH_HEAP] = "heapSlots",          [GROWTH_ALLOCATED] = "allocatedBytes",
    [GROWTH_CLIST] = "clistEntries",      [GROWTH_SNAPSHOT] = "snapshotBytes",
    [GROWTH_COLLECTIONS] = "collections", [GROWTH_RELEASED] = "released",
};

const char *growth_measure_name(enum growth_measure measure)
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

/* Every second point goes, and from now on only every second one of those that come stays. */
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

/* ---- taking in ---- */

static struct growth_vat *vat_of_key(struct growth *growth, uint32_t number)
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

struct growth_vat *growth_find_vat(struct growth *growth, const char *id, const char *name)
{
    struct buf *key = &growth->key;
    uint32_t number;

    buf_clear(key);
    buf_append(key, id, strlen(id) + 1);
    buf_append_string(key, name);
    number = buf_failed(key) ? NAMES_NONE : names_intern(&growth->keys, key->data, key->length);
    return number == NAMES_NONE ? NULL : vat_of_key(growth, number);
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

struct growth_vat *growth_last_of_id(struct growth *growth, const char *id)
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
