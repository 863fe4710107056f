/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/transcript/recorded_delivery.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int64_t recorded_integer(struct scan_span object, const char *name)
{
    struct scan_span value = scan_get(object, name);
    int64_t number;

    return value.at != NULL && scan_decimal(value, 0, &number) ? number : RECORDED_NONE;
}

static void clear_recorded(struct recorded_delivery *recorded)
{
    recorded->delivery = (struct scan_span){0};
    recorded->syscall_count = 0;
    recorded->finished = false;
    recorded->result = (struct recorded_result){
        .compute = RECORDED_NONE, .allocate = RECORDED_NONE, .instructions = RECORDED_NONE};
}

static struct recorded_syscall *add_recorded_syscall(struct recorded_delivery *recorded,
                                                     uint64_t line)
{
    struct recorded_syscall *syscalls =
        array_reserve(recorded->syscalls, &recorded->syscall_capacity, recorded->syscall_count + 1,
                      sizeof *syscalls);

    if (syscalls == NULL)
        return NULL;
    recorded->syscalls = syscalls;
    syscalls[recorded->syscall_count] = (struct recorded_syscall){.line = line};
    return &syscalls[recorded->syscall_count++];
}

/* The scanner reads whole blocks, beyond the text's end. */
static int pad(struct buf *text)
{
    if (buf_reserve(text, SCAN_PADDING) != 0)
        return -1;
    memset(text->data + text->length, 0, SCAN_PADDING);
    return 0;
}

static void move_span(struct scan_span *span, const char *from, const char *to)
{
    if (span->at != NULL)
        span->at = to + ((uintptr_t)span->at - (uintptr_t)from);
}

/* After the text has moved. */
static void move_spans(struct recorded_delivery *recorded, const char *from, const char *to)
{
    move_span(&recorded->delivery, from, to);
    for (size_t i = 0; i < recorded->syscall_count; i++) {
        move_span(&recorded->syscalls[i].made, from, to);
        move_span(&recorded->syscalls[i].answer, from, to);
    }
    move_span(&recorded->result.status, from, to);
    move_span(&recorded->result.problem, from, to);
    move_span(&recorded->result.refused, from, to);
    move_span(&recorded->result.fingerprint, from, to);
}

/* A copy of the span in `text`. */
static int recorded_delivery_keep(struct recorded_delivery *recorded, struct scan_span span,
                                  struct scan_span *kept)
{
    struct buf *text = &recorded->text;
    const char *before = text->data;

    *kept = (struct scan_span){0};
    if (span.at == NULL)
        return 0;
    if (buf_reserve(text, span.length + SCAN_PADDING) != 0)
        return -1;
    if (text->data != before)
        move_spans(recorded, before, text->data);
    *kept = (struct scan_span){text->data + text->length, span.length};
    (void)buf_append(text, span.at, span.length); /* reserved */
    return pad(text);
}

/* ---- entries ---- */

/* The names of an entry's members: since swing-store, and before. */
struct entry_names {
    const char *syscalls, *made, *answer;
};

static const struct entry_names names_now = {"sc", "s", "r"};
static const struct entry_names names_before = {"syscalls", "d", "response"};

/* 1, 0 when it is no list of syscalls, -1 when memory ran out. */
static int take_syscalls(struct recorded_delivery *recorded, struct scan_span list,
                         const struct entry_names *names, uint64_t line)
{
    struct scan_cursor cursor;
    struct scan_span pair;
    enum scan_step step;

    if (!scan_open(list, '[', &cursor))
        return 0;
    while ((step = scan_element(&cursor, &pair)) == SCAN_FOUND) {
        struct recorded_syscall *syscall = add_recorded_syscall(recorded, line);

        if (syscall == NULL)
            return -1;
        syscall->made = scan_get(pair, names->made);
        syscall->answer = scan_get(pair, names->answer);
        if (syscall->made.at == NULL || syscall->answer.at == NULL)
            return 0;
    }
    return step == SCAN_END;
}

/* Kernels before swing-store kept of most answers the RESULT alone: it becomes ["ok",RESULT]. */
static int complete_answers(struct recorded_delivery *recorded)
{
    for (size_t i = 0; i < recorded->syscall_count; i++) {
        struct scan_span *answer = &recorded->syscalls[i].answer;
        struct scan_span word = {0}, bare = *answer;
        struct scan_cursor cursor;
        struct buf text = {0};
        int result;

        if (scan_open(bare, '[', &cursor) && scan_element(&cursor, &word) == SCAN_FOUND &&
            (scan_is(word, "\"ok\"") || scan_is(word, "\"error\"")))
            continue;
        buf_printf(&text, "[\"ok\",%.*s]", (int)bare.length, bare.at);
        result = buf_failed(&text)
                     ? -1
                     : recorded_delivery_keep(recorded, (struct scan_span){text.data, text.length},
                                              answer);
        buf_free(&text);
        if (result != 0)
            return -1;
    }
    return 0;
}

static void recorded_delivery_take_result(struct recorded_delivery *recorded,
                                          struct scan_span result, uint64_t line)
{
    struct scan_span metering = scan_get(result, "metering");

    recorded->finished = true;
    recorded->result.line = line;
    recorded->result.status = scan_string(scan_get(result, "status"));
    recorded->result.problem = scan_get(result, "problem");
    recorded->result.limited = scan_is(scan_get(result, "limited"), "true");
    recorded->result.compute = recorded_integer(metering, "computrons");
    recorded->result.allocate = recorded_integer(metering, "allocate");
    recorded->result.instructions = recorded_integer(result, "instructions");
    recorded->result.fingerprint = scan_string(scan_get(result, "fingerprint"));
}

int recorded_delivery_parse(struct recorded_delivery *recorded, uint64_t line, struct error *error)
{
    struct scan_span text, result;
    struct scan_cursor cursor;
    bool now;
    int taken;

    clear_recorded(recorded);
    if (pad(&recorded->text) != 0)
        return error_memory(error, "a transcript");
    text = (struct scan_span){recorded->text.data, recorded->text.length};
    recorded->delivery = scan_get(text, "d");
    result = scan_get(text, "r");
    now = scan_get(text, names_now.syscalls).at != NULL;
    taken = take_syscalls(recorded, scan_get(text, now ? "sc" : "syscalls"),
                          now ? &names_now : &names_before, line);
    if (taken < 0)
        return error_memory(error, "a transcript");
    if (taken == 0 || !scan_open(recorded->delivery, '[', &cursor) || (now && result.at == NULL))
        return error_set(error, ERROR_INPUT,
                         "not {\"d\":[...],\"sc\":[{\"s\":[...],\"r\":[...]},...],\"r\":{...}}");
    recorded_delivery_take_result(recorded, result, line);
    if (!now && complete_answers(recorded) != 0)
        return error_memory(error, "a transcript");
    return 0;
}

int recorded_delivery_fetch(struct recorded_delivery *recorded, struct store *store, int64_t vat,
                            int64_t incarnation, int64_t position, struct error *error)
{
    bool found = false;

    buf_clear(&recorded->text);
    if (store_transcript_get(store, vat, incarnation, position, &recorded->text, &found, error) !=
        0)
        return -1;
    if (found && recorded_delivery_parse(recorded, (uint64_t)position + 2, error) == 0 &&
        recorded->result.status.at != NULL)
        return 0;
    return error_set(error, ERROR_SYSTEM,
                     "the store is damaged: the transcript of v%" PRId64 " at position %" PRId64
                     " is %s",
                     vat, position, found ? "no delivery" : "missing");
}

/* ---- piece by piece ---- */

int recorded_delivery_begin(struct recorded_delivery *recorded, struct scan_span delivery)
{
    clear_recorded(recorded);
    buf_clear(&recorded->text);
    return recorded_delivery_keep(recorded, delivery, &recorded->delivery);
}

int recorded_delivery_add_syscall(struct recorded_delivery *recorded, struct scan_span made,
                                  uint64_t line)
{
    struct recorded_syscall *syscall = add_recorded_syscall(recorded, line);

    return syscall != NULL ? recorded_delivery_keep(recorded, made, &syscall->made) : -1;
}

int recorded_delivery_add_answer(struct recorded_delivery *recorded, struct scan_span answer)
{
    return recorded_delivery_keep(recorded, answer,
                                  &recorded->syscalls[recorded->syscall_count - 1].answer);
}

int recorded_delivery_add_result(struct recorded_delivery *recorded,
                                 const struct recorded_result *result)
{
    struct recorded_result *kept = &recorded->result;

    recorded->finished = true;
    kept->compute = result->compute;
    kept->allocate = result->allocate;
    kept->instructions = result->instructions;
    kept->limited = result->limited;
    kept->line = result->line;
    if (recorded_delivery_keep(recorded, result->status, &kept->status) != 0 ||
        recorded_delivery_keep(recorded, result->problem, &kept->problem) != 0 ||
        recorded_delivery_keep(recorded, result->refused, &kept->refused) != 0)
        return -1;
    return recorded_delivery_keep(recorded, result->fingerprint, &kept->fingerprint);
}

void recorded_delivery_free(struct recorded_delivery *recorded)
{
    buf_free(&recorded->text);
    free(recorded->syscalls);
    *recorded = (struct recorded_delivery){0};
}

/* ---- as an entry of a transcript ---- */

static void put_span(struct buf *out, const char *before, struct scan_span span, const char *after)
{
    if (span.at == NULL)
        return;
    buf_append_string(out, before);
    buf_append(out, span.at, span.length);
    buf_append_string(out, after);
}

static void recorded_entry_put_number(struct buf *out, const char *name, int64_t number,
                                      const char *after)
{
    if (number != RECORDED_NONE)
        buf_printf(out, "\"%s\":%" PRId64 "%s", name, number, after);
}

/* Each member ends with a comma, but for the last, which is always there. */
static void put_recorded_result(struct buf *out, const struct recorded_result *result,
                                struct scan_span fingerprint)
{
    const bool metered = result->compute != RECORDED_NONE || result->allocate != RECORDED_NONE;

    buf_append_string(out, "{");
    put_span(out, "\"status\":\"", result->status, "\",");
    put_span(out, "\"problem\":", result->problem, ",");
    if (metered) {
        buf_append_string(out, "\"metering\":{");
        recorded_entry_put_number(out, "computrons", result->compute,
                                  result->allocate != RECORDED_NONE ? "," : "");
        recorded_entry_put_number(out, "allocate", result->allocate, "");
        buf_append_string(out, "},");
    }
    recorded_entry_put_number(out, "instructions", result->instructions, ",");
    put_span(out, "\"fingerprint\":\"",
             result->fingerprint.at != NULL ? result->fingerprint : fingerprint, "\",");
    buf_printf(out, "\"limited\":%s}", result->limited ? "true" : "false");
}

void recorded_entry_put(struct buf *out, const struct recorded_delivery *recorded,
                        const struct recorded_entry *entry)
{
    buf_append_string(out, "{");
    recorded_entry_put_number(out, "deliveryNum", entry->delivery_num, ",");
    if (entry->replay)
        buf_append_string(out, "\"replay\":true,");
    put_span(out, "\"d\":", recorded->delivery, ",\"sc\":[");
    for (size_t i = 0; i < recorded->syscall_count; i++) {
        put_span(out, i > 0 ? ",{\"s\":" : "{\"s\":", recorded->syscalls[i].made, ",\"r\":");
        put_span(out, "", recorded->syscalls[i].answer, "}");
    }
    buf_append_string(out, "],\"r\":");
    put_recorded_result(out, &recorded->result, entry->fingerprint);
    buf_append_string(out, "}\n");
}
