/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/output/replay_result.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"

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

static int64_t *count_of(struct replay_counts *counts, size_t member)
{
    return (int64_t *)(void *)((char *)counts + members[member].offset);
}

void replay_counts_add(struct replay_counts *sum, const struct replay_counts *counts)
{
    struct replay_counts added = *counts;

    for (size_t i = 0; i < MEMBERS; i++)
        if (__builtin_add_overflow(*count_of(sum, i), *count_of(&added, i), count_of(sum, i)))
            *count_of(sum, i) = INT64_MAX;
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

void replay_counts_put(struct buf *out, const struct replay_counts *counts)
{
    struct replay_counts put = *counts;

    for (size_t i = 0; i < (put.priced > 0 ? MEMBERS : MEMBERS_UNPRICED); i++)
        buf_printf(out, ",\"%s\":%" PRId64, members[i].name, *count_of(&put, i));
}

void replay_result_put_difference(struct buf *out, const char *kind, struct replay_result *result,
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

void replay_result_put_vat(struct buf *out, const struct replay_result *result)
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

/* Which of the names the member is; -1: none. */
static int find_name(const json_t *value, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (json_is_string(value) && strcmp(json_string_value(value), names[i]) == 0)
            return (int)i;
    return -1;
}

static int take_name(char **text, const json_t *value)
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

    if (aspect < 0 || take_name(&result->file, json_object_get(line, "file")) != 0)
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

static int take_vat(struct replay_result *result, const json_t *line)
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
        *count_of(&result->counts, i) = json_integer_value(json_object_get(line, members[i].name));
    return 0;
}

int replay_result_take(struct replay_result *result, const json_t *line, struct error *error)
{
    static const char *const kinds[] = {"difference", "vat"};
    const int kind = find_name(json_object_get(line, "kind"), kinds, 2);
    int taken = kind < 0 ? -1 : kind == 0 ? take_difference(result, line) : take_vat(result, line);

    if (taken != 0 || take_name(&result->id, json_object_get(line, "vatID")) != 0 ||
        take_name(&result->name, json_object_get(line, "vat")) != 0)
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
