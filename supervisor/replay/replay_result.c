/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_result.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/io.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/text/format.h"
#include "base/visible.h"

static const char *const status_names[] = {
    [REPLAY_SAME] = "same",
    [REPLAY_SKIPPED] = "skipped",
    [REPLAY_DIFFERS] = "differs",
};

static const struct {
    const char *name;
    size_t offset;
} members[] = {
    {"deliveries", offsetof(struct replay_counts, deliveries)},
    {"syscalls", offsetof(struct replay_counts, syscalls)},
    {"computed", offsetof(struct replay_counts, computed)},
    {"compute", offsetof(struct replay_counts, computrons)},
    {"counted", offsetof(struct replay_counts, counted)},
    {"instructions", offsetof(struct replay_counts, instructions)},
    {"snapshots", offsetof(struct replay_counts, snapshots)},
    {"cut", offsetof(struct replay_counts, cut)},
    {"tolerated", offsetof(struct replay_counts, tolerated)},
    {"against", offsetof(struct replay_counts, against)},
    {"priced", offsetof(struct replay_counts, priced)},
    {"gas", offsetof(struct replay_counts, gas)},
};

/* The last two are there where something was priced. */
enum { MEMBERS = sizeof members / sizeof *members, MEMBERS_UNPRICED = MEMBERS - 2 };

static int64_t *compare_count_of(struct replay_counts *counts, size_t member)
{
    return (int64_t *)(void *)((char *)counts + members[member].offset);
}

void replay_counts_add(struct replay_counts *sum, const struct replay_counts *counts)
{
    struct replay_counts added = *counts;

    for (size_t i = 0; i < MEMBERS; i++)
        if (__builtin_add_overflow(*compare_count_of(sum, i), *compare_count_of(&added, i),
                                   compare_count_of(sum, i)))
            *compare_count_of(sum, i) = INT64_MAX;
}

/* ---- as JSON ---- */

static void replay_result_put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    json_text_string(out, text, strlen(text));
}

static void put_side(struct buf *out, const char *name, const struct buf *side)
{
    buf_printf(out, ",\"%s\":", name);
    if (side->length > 0)
        json_text_string(out, side->data, side->length);
    else
        buf_append_string(out, "null");
}

/* Appends the counts as JSON members, each with a comma before it. */
static void replay_counts_put(struct buf *out, const struct replay_counts *counts)
{
    struct replay_counts put = *counts;

    for (size_t i = 0; i < (put.priced > 0 ? MEMBERS : MEMBERS_UNPRICED); i++)
        buf_printf(out, ",\"%s\":%" PRId64, members[i].name, *compare_count_of(&put, i));
}

/* Appends a JSON line of that kind about a difference of its last delivery. */
static void replay_result_put_difference(struct buf *out, const char *kind,
                                         struct replay_result *result,
                                         const struct difference *difference)
{
    buf_printf(out, "{\"kind\":\"%s\"", kind);
    replay_result_put_text(out, "vatID", result->id);
    replay_result_put_text(out, "vat", result->name);
    buf_printf(out, ",\"deliveryNum\":%" PRId64, result->delivery_num);
    if (difference->aspect == COMPARE_SYSCALL)
        buf_printf(out, ",\"syscallNum\":%" PRId64, difference->syscall_num);
    else
        buf_append_string(out, ",\"syscallNum\":null");
    replay_result_put_text(out, "description", buf_string(&result->description));
    replay_result_put_text(out, "aspect", compare_aspect_names[difference->aspect]);
    replay_result_put_text(out, "file", result->file != NULL ? result->file : "");
    buf_printf(out, ",\"line\":%" PRIu64, difference->line);
    put_side(out, "recorded", &difference->recorded);
    put_side(out, "replayed", &difference->replayed);
    buf_printf(out, ",\"against\":%s}\n", result->is_against ? "true" : "false");
}

/* Appends a JSON line of kind "vat". */
static void replay_result_put_vat(struct buf *out, const struct replay_result *result)
{
    buf_append_string(out, "{\"kind\":\"vat\"");
    replay_result_put_text(out, "vatID", result->id);
    replay_result_put_text(out, "vat", result->name);
    replay_result_put_text(out, "status", status_names[result->status]);
    replay_result_put_text(out, "why", result->status == REPLAY_SKIPPED ? result->why : "");
    replay_counts_put(out, &result->counts);
    buf_printf(out, ",\"from\":%" PRId64 ",\"to\":%" PRId64 "}\n", result->first_num,
               result->delivery_num);
}

/* ---- out of JSON ---- */

/* The index of the member in the names; -1 if absent. */
static int find_name(const json_t *value, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (json_is_string(value) && strcmp(json_string_value(value), names[i]) == 0)
            return (int)i;
    return -1;
}

static int take_aspect_name(char **text, const json_t *value)
{
    free(*text);
    *text = json_is_string(value) ? strdup(json_string_value(value)) : NULL;
    return *text != NULL ? 0 : -1;
}

static int take_side(struct buf *side, const json_t *value)
{
    if (!json_is_string(value))
        return json_is_null(value) ? 0 : -1;
    return buf_append(side, json_string_value(value), json_string_length(value));
}

static int take_difference(struct replay_result *result, const json_t *line)
{
    struct difference *difference = &result->difference;
    const json_t *syscall_num = json_object_get(line, "syscallNum");
    int aspect = find_name(json_object_get(line, "aspect"), compare_aspect_names, COMPARE_ASPECTS);

    if (aspect < 0 || take_aspect_name(&result->file, json_object_get(line, "file")) != 0)
        return -1;
    difference->aspect = (enum compare_aspect)aspect;
    result->is_against = json_is_true(json_object_get(line, "against"));
    difference->line = (uint64_t)json_integer_value(json_object_get(line, "line"));
    difference->syscall_num = json_integer_value(syscall_num);
    result->delivery_num = json_integer_value(json_object_get(line, "deliveryNum"));
    if (take_side(&result->description, json_object_get(line, "description")) != 0 ||
        take_side(&difference->recorded, json_object_get(line, "recorded")) != 0)
        return -1;
    return take_side(&difference->replayed, json_object_get(line, "replayed"));
}

static int take_vat_line(struct replay_result *result, const json_t *line)
{
    const json_t *why = json_object_get(line, "why");
    int status = find_name(json_object_get(line, "status"), status_names, REPLAY_DIFFERS + 1);

    if (status < 0 || !json_is_string(why))
        return -1;
    result->status = (enum replay_status)status;
    result->first_num = json_integer_value(json_object_get(line, "from"));
    result->delivery_num = json_integer_value(json_object_get(line, "to"));
    snprintf(result->why, sizeof result->why, "%s", json_string_value(why));
    for (size_t i = 0; i < MEMBERS; i++)
        *compare_count_of(&result->counts, i) =
            json_integer_value(json_object_get(line, members[i].name));
    return 0;
}

/*
 * Reads a line of either kind again, into a result that was all zeros or has taken the
 * "difference" line before. -1 with ERROR_SYSTEM: it is no such line.
 */
static int replay_result_take(struct replay_result *result, const json_t *line, struct error *error)
{
    static const char *const kinds[] = {"difference", "vat"};
    const int kind = find_name(json_object_get(line, "kind"), kinds, 2);
    int taken = kind < 0    ? -1
                : kind == 0 ? take_difference(result, line)
                            : take_vat_line(result, line);

    if (taken != 0 || take_aspect_name(&result->id, json_object_get(line, "vatID")) != 0 ||
        take_aspect_name(&result->name, json_object_get(line, "vat")) != 0)
        return error_set(error, ERROR_SYSTEM, "a part of the replay gave no result");
    return 0;
}

void replay_result_free(struct replay_result *result)
{
    difference_free(&result->difference);
    buf_free(&result->description);
    free(result->id);
    free(result->name);
    free(result->file);
    *result = (struct replay_result){0};
}

/* ---- while a replay runs ---- */

enum { SIDE_SHOWN = 120 };

static const char *replay_note_text_of(const json_t *line, const char *name)
{
    const char *text = json_string_value(json_object_get(line, name));

    return text != NULL ? text : "none";
}

/* Appends what a "tolerated" JSON line says as a line for people. */
static void replay_note_put_text(struct buf *out, const json_t *line)
{
    buf_printf(
        out, "%s %s: delivery %" PRIi64 ", %s: tolerated: %s, recorded %.*s, replayed %.*s\n",
        replay_note_text_of(line, "vatID"), replay_note_text_of(line, "vat"),
        (int64_t)json_integer_value(json_object_get(line, "deliveryNum")),
        replay_note_text_of(line, "description"), replay_note_text_of(line, "aspect"), SIDE_SHOWN,
        replay_note_text_of(line, "recorded"), SIDE_SHOWN, replay_note_text_of(line, "replayed"));
}

void replay_note_tolerated(struct replay_notes *notes, struct replay_result *result,
                           const struct difference *difference)
{
    struct buf line = {0};
    json_t *json;

    result->counts.tolerated++;
    replay_result_put_difference(notes->json ? &notes->lines : &line, "tolerated", result,
                                 difference);
    if (notes->json)
        return;
    json = json_value_read(line.data, line.length, JSON_ALLOW_NUL, NULL);
    replay_note_put_text(&notes->lines, json);
    json_decref(json);
    buf_free(&line);
}

static void replay_note_put_number(struct buf *out, const char *name, bool known, int64_t number)
{
    buf_printf(out, ",\"%s\":", name);
    if (known)
        json_text_integer(out, number);
    else
        buf_append_string(out, "null");
}

/* Unmeasured use has no known price. */
static double price_replayed(const struct gas_model *gas,
                             const struct replay_note_delivery *delivery)
{
    const struct meter *meter = delivery->meter;
    const bool counted = meter != NULL && meter->counted;
    const struct gas_usage usage = {
        .computrons = meter != NULL ? (double)meter->compute : (double)NAN,
        .instructions = counted ? (double)meter->instructions : (double)NAN,
        .bytes_read = counted ? (double)meter->bytes_read : (double)NAN,
        .bytes_written = counted ? (double)meter->bytes_written : (double)NAN,
        .syscalls = (double)delivery->syscalls,
        .block_cost = meter != NULL && meter->cost_known ? (double)meter->block_cost : (double)NAN,
    };

    return gas != NULL ? gas_model_price_delivery(gas, &usage) : (double)NAN;
}

static void add_price(struct replay_counts *counts, double gas)
{
    if (!(gas < 0x1p63))
        return;
    counts->priced++;
    if (__builtin_add_overflow(counts->gas, (int64_t)gas, &counts->gas))
        counts->gas = INT64_MAX;
}

void replay_note_delivery(struct replay_notes *notes, struct replay_result *result,
                          const struct replay_note_delivery *delivery)
{
    const struct recorded_result *recorded = delivery->recorded;
    const struct meter *meter = delivery->meter;
    struct buf *out = &notes->lines;
    const char *description = buf_string(&result->description);
    const double gas = price_replayed(notes->gas, delivery);

    add_price(&result->counts, gas);
    if (!notes->json || !notes->deliveries)
        return;
    buf_append_string(out, "{\"kind\":\"delivery\",\"vatID\":");
    json_text_string(out, result->id, strlen(result->id));
    buf_append_string(out, ",\"vat\":");
    json_text_string(out, result->name, strlen(result->name));
    buf_printf(out, ",\"deliveryNum\":%" PRId64 ",\"description\":", result->delivery_num);
    json_text_string(out, description, description != NULL ? strlen(description) : 0);
    buf_printf(out, ",\"status\":\"%s\",\"syscalls\":%zu", delivery->status, delivery->syscalls);
    replay_note_put_number(out, "compute", meter != NULL,
                           meter != NULL ? (int64_t)meter->compute : 0);
    replay_note_put_number(out, "instructions", meter != NULL && meter->counted,
                           meter != NULL ? (int64_t)meter->instructions : 0);
    replay_note_put_number(out, "allocate", meter != NULL,
                           meter != NULL ? (int64_t)meter->allocate : 0);
    replay_note_put_number(out, "recordedCompute", recorded->compute != RECORDED_NONE,
                           recorded->compute);
    replay_note_put_number(out, "recordedInstructions", recorded->instructions != RECORDED_NONE,
                           recorded->instructions);
    if (meter != NULL && meter->cost_known)
        buf_printf(out, ",\"blockCost\":%" PRIu64, meter->block_cost);
    if (notes->gas != NULL)
        replay_note_put_number(out, "gas", gas < 0x1p63, gas < 0x1p63 ? (int64_t)gas : 0);
    buf_append_string(out, "}\n");
}

/* ---- at its end ---- */

/* ---- columns ---- */

enum { SIDE_WIDTH = 200, SIDE_BEFORE = 80, NAME_WIDTH = 12 };

/* A side, near to where the two part: whole ones fill screens. */
static void put_near(struct buf *out, const char *name, const struct buf *side, size_t parting)
{
    size_t from = parting > SIDE_BEFORE ? parting - SIDE_BEFORE : 0;
    size_t length;

    buf_printf(out, "  %s: ", name);
    if (side->length == 0) {
        buf_append_string(out, "none\n");
        return;
    }
    from = from < side->length ? from : side->length;
    length = side->length - from < SIDE_WIDTH ? side->length - from : SIDE_WIDTH;
    buf_append_string(out, from > 0 ? "…" : "");
    for (size_t i = from; i < from + length; i++)
        buf_append_byte(out, (unsigned char)side->data[i] < 0x20 ? '?' : side->data[i]);
    buf_append_string(out, from + length < side->length ? "…\n" : "\n");
}

static void put_vat_difference(struct buf *out, struct replay_result *vat)
{
    const struct difference *difference = &vat->difference;
    const struct buf *recorded = &difference->recorded, *replayed = &difference->replayed;
    size_t parting = 0;

    while (parting < recorded->length && parting < replayed->length &&
           recorded->data[parting] == replayed->data[parting])
        parting++;
    buf_printf(out, "%s %s: delivery %" PRId64 ", %s: ", vat->id, vat->name, vat->delivery_num,
               buf_string(&vat->description));
    if (difference->aspect == COMPARE_SYSCALL)
        buf_printf(out, "syscall %" PRId64 " differs", difference->syscall_num);
    else
        buf_printf(out, "%s differ%s", compare_aspect_names[difference->aspect],
                   difference->aspect == COMPARE_RESULT || difference->aspect == COMPARE_SNAPSHOT
                       ? "s"
                       : "");
    buf_printf(out, " (%s:%" PRIu64 ")\n", vat->file, difference->line);
    put_near(out, vat->is_against ? "worker" : "recorded", recorded, parting);
    put_near(out, vat->is_against ? "against" : "replayed", replayed, parting);
}

/* A sum, or nothing when it is of no deliveries. */
static void replay_output_put_number(struct buf *out, int width, int64_t number, int64_t deliveries)
{
    if (deliveries > 0)
        buf_printf(out, " %*" PRId64, width, number);
    else
        buf_printf(out, " %*s", width, "-");
}

/* `is_span`: there is more of the same vat. */
static void put_vat_result(struct buf *out, const struct replay_result *vat, bool is_span)
{
    const struct replay_counts *counts = &vat->counts;

    buf_printf(out, "%-6s %-*s %10" PRId64 " %9" PRId64, vat->id, NAME_WIDTH, vat->name,
               counts->deliveries, counts->syscalls);
    replay_output_put_number(out, 14, counts->computrons, counts->computed);
    replay_output_put_number(out, 15, counts->instructions, counts->counted);
    buf_append_string(out, "  ");
    if (vat->status == REPLAY_DIFFERS)
        buf_printf(out, "differs at delivery %" PRId64, vat->delivery_num);
    else if (vat->status == REPLAY_SKIPPED)
        buf_printf(out, "%s: %s",
                   counts->deliveries > 0 ? "same, then not replayed" : "not replayed", vat->why);
    else
        buf_append_string(out, "same");
    if (is_span && counts->deliveries > 0)
        buf_printf(out, ", deliveries %" PRId64 " to %" PRId64, vat->first_num, vat->delivery_num);
    if (counts->tolerated > 0)
        buf_printf(out, "; %" PRId64 " tolerated", counts->tolerated);
    if (counts->cut > 0)
        buf_printf(out, "; %" PRId64 " not finished in the recording", counts->cut);
    buf_append_byte(out, '\n');
}

/* ---- all of it ---- */

/* Returns true if the result is of the same vat as the one before, which is replayed span by span.
 */
static bool continues(struct replay_result *const *results, size_t index)
{
    return index > 0 && strcmp(results[index]->id, results[index - 1]->id) == 0 &&
           strcmp(results[index]->name, results[index - 1]->name) == 0;
}

struct sum {
    struct replay_counts counts;
    size_t vats, differ, skipped;
};

static struct sum sum_up_results(struct replay_result *const *results, size_t count)
{
    struct sum sum = {0};

    for (size_t i = 0; i < count; i++) {
        sum.vats += !continues(results, i);
        sum.differ += results[i]->status == REPLAY_DIFFERS;
        sum.skipped += results[i]->status == REPLAY_SKIPPED;
        replay_counts_add(&sum.counts, &results[i]->counts);
    }
    return sum;
}

static void put_sum(struct buf *out, const struct sum *sum)
{
    const struct replay_counts *counts = &sum->counts;

    buf_printf(out,
               "%zu vat%s: %" PRId64 " %s and %" PRId64 " %s the same, computrons of %" PRId64
               " and instructions of %" PRId64 " %s compared",
               sum->vats, sum->vats == 1 ? "" : "s", counts->deliveries,
               format_plural((uint64_t)counts->deliveries, "delivery", "deliveries"),
               counts->syscalls, format_plural((uint64_t)counts->syscalls, "syscall", "syscalls"),
               counts->computed, counts->counted,
               format_plural((uint64_t)counts->counted, "delivery", "deliveries"));
    if (counts->snapshots > 0)
        buf_printf(out, ", %" PRId64 " %s the same", counts->snapshots,
                   format_plural((uint64_t)counts->snapshots, "snapshot", "snapshots"));
    if (counts->priced > 0)
        buf_printf(out, "; %" PRId64 " gas for %" PRId64 " of them", counts->gas, counts->priced);
    if (sum->differ > 0)
        buf_printf(out, "; %zu differ%s", sum->differ, sum->differ == 1 ? "s" : "");
    if (sum->skipped > 0)
        buf_printf(out, "; %zu not replayed to the end", sum->skipped);
    buf_append_byte(out, '\n');
}

static void replay_output_put_text(struct buf *out, struct replay_result *const *results,
                                   size_t count)
{
    struct sum sum = sum_up_results(results, count);

    for (size_t i = 0; i < count; i++)
        if (results[i]->status == REPLAY_DIFFERS)
            put_vat_difference(out, results[i]);
    buf_printf(out, "%-6s %-*s %10s %9s %14s %15s\n", "vat", NAME_WIDTH, "name", "deliveries",
               "syscalls", "computrons", "instructions");
    for (size_t i = 0; i < count; i++)
        put_vat_result(out, results[i],
                       continues(results, i) || (i + 1 < count && continues(results, i + 1)));
    put_sum(out, &sum);
}

static void put_json_results(struct buf *out, struct replay_result *const *results, size_t count)
{
    struct sum sum = sum_up_results(results, count);

    for (size_t i = 0; i < count; i++)
        if (results[i]->status == REPLAY_DIFFERS)
            replay_result_put_difference(out, "difference", results[i], &results[i]->difference);
    for (size_t i = 0; i < count; i++)
        replay_result_put_vat(out, results[i]);
    buf_printf(out, "{\"kind\":\"summary\",\"differ\":%zu,\"skipped\":%zu", sum.differ,
               sum.skipped);
    replay_counts_put(out, &sum.counts);
    buf_append_string(out, "}\n");
}

static int replay_output_print(struct buf *out, struct error *error)
{
    int result = 0;

    if (buf_failed(out))
        result = error_memory(error, "the output");
    else if (visible_write(STDOUT_FILENO, out->data, out->length) != 0)
        result = io_fail_stdout("cannot write the results to stdout", error);
    buf_free(out);
    return result;
}

int replay_output(struct replay_result *const *results, size_t count, bool json,
                  struct error *error)
{
    struct buf out = {0};

    if (json)
        put_json_results(&out, results, count);
    else
        replay_output_put_text(&out, results, count);
    return replay_output_print(&out, error);
}

int replay_output_part(struct replay_result *const *results, size_t count, struct error *error)
{
    struct buf out = {0};

    for (size_t i = 0; i < count; i++) {
        if (results[i]->status == REPLAY_DIFFERS)
            replay_result_put_difference(&out, "difference", results[i], &results[i]->difference);
        replay_result_put_vat(&out, results[i]);
    }
    return replay_output_print(&out, error);
}

/* ---- results of another process ---- */

static int add_result(struct replay_part *part, struct replay_result *result)
{
    struct replay_result **results =
        array_reserve(part->results, &part->capacity, part->count + 1, sizeof *results);
    struct replay_result *added = malloc(sizeof *added);

    if (results != NULL)
        part->results = results;
    if (results == NULL || added == NULL) {
        free(added);
        return -1;
    }
    *added = *result;
    *result = (struct replay_result){0};
    results[part->count++] = added;
    return 0;
}

/* Notes an error, unless there was one further up in the source. */
static void take_error(struct replay_part *part, const json_t *line)
{
    const uint64_t number = (uint64_t)json_integer_value(json_object_get(line, "line"));
    const char *text = json_string_value(json_object_get(line, "text"));

    if (part->failed_line > 0 && number >= part->failed_line)
        return;
    part->failed_line = number > 0 ? number : 1;
    error_set(&part->failure, (enum error_kind)json_integer_value(json_object_get(line, "status")),
              "%s", text != NULL ? text : "a part of the replay failed");
}

/* As JSON, or as text without the notes of single deliveries. */
static void take_note(struct replay_part *part, const json_t *line, struct scan_span text,
                      bool json)
{
    if (json) {
        buf_append(&part->notes, text.at, text.length);
        buf_append_byte(&part->notes, '\n');
    } else if (strcmp(json_string_value(json_object_get(line, "kind")), "tolerated") == 0) {
        replay_note_put_text(&part->notes, line);
    }
}

/* `result` is what the lines before have begun. */
static int replay_part_take_line(struct replay_part *part, struct scan_span text, bool json,
                                 struct replay_result *result, struct error *error)
{
    json_t *line = json_value_read(text.at, text.length, JSON_ALLOW_NUL, NULL);
    const char *kind = json_string_value(json_object_get(line, "kind"));
    int taken = 0;

    if (kind != NULL && strcmp(kind, "error") == 0)
        take_error(part, line);
    else if (kind != NULL && (strcmp(kind, "delivery") == 0 || strcmp(kind, "tolerated") == 0))
        take_note(part, line, text, json);
    else if (kind == NULL || strcmp(kind, "span") != 0)
        taken = replay_result_take(result, line, error);
    if (taken == 0 && kind != NULL && strcmp(kind, "vat") == 0 && add_result(part, result) != 0)
        taken = error_memory(error, "the results");
    json_decref(line);
    return taken;
}

int replay_part_read(struct replay_part *part, const char *text, size_t length, bool json,
                     struct error *error)
{
    struct replay_result result = {0};
    size_t place = 0;
    int status = 0;

    while (status == 0 && place < length) {
        const char *end = memchr(text + place, '\n', length - place);
        const struct scan_span line = {text + place,
                                       end != NULL ? (size_t)(end - text) - place : length - place};

        status = replay_part_take_line(part, line, json, &result, error);
        place += line.length + 1;
    }
    replay_result_free(&result);
    return status;
}

void replay_part_free(struct replay_part *part)
{
    for (size_t i = 0; i < part->count; i++)
        if (part->results[i] != NULL) {
            replay_result_free(part->results[i]);
            free(part->results[i]);
        }
    free(part->results);
    buf_free(&part->notes);
    *part = (struct replay_part){0};
}
