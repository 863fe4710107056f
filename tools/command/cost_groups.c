/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/cost_groups.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/json/scan.h"
#include "base/number.h"

const char *const cost_by_names[] = {
    [COST_BY_FUNCTION] = "function", [COST_BY_LINE] = "line",         [COST_BY_VAT] = "vat",
    [COST_BY_METHOD] = "method",     [COST_BY_DELIVERY] = "delivery", NULL};

static void cost_groups_add_number(int64_t *sum, int64_t number, bool *has)
{
    if (number == COST_NONE)
        return;
    *has = true;
    *sum = saturate_add(*sum, number);
}

static void add_costs(struct cost_sums *sums, const struct cost_record *record)
{
    bool always = true;

    cost_groups_add_number(&sums->calls, record->calls, &sums->has_calls);
    cost_groups_add_number(&sums->self, record->self, &always);
    cost_groups_add_number(&sums->total, record->total, &sums->has_total);
    cost_groups_add_number(&sums->self_instructions, record->self_instructions,
                           &sums->has_instructions);
    cost_groups_add_number(&sums->total_instructions, record->total_instructions,
                           &sums->has_instructions);
}

/* ---- keys ---- */

static void put_word(struct buf *key, const char *word)
{
    buf_append(key, word, strlen(word) + 1);
}

static void cost_groups_put_number(struct buf *key, int64_t number)
{
    buf_append(key, &number, sizeof number);
}

/* What tells groups apart: numbers, then words. */
static void put_key(const struct cost_groups *groups, const struct cost_record *record,
                    struct buf *key)
{
    const bool by_line =
        groups->by == COST_BY_LINE || (groups->by == COST_BY_FUNCTION && !groups->compared);

    buf_clear(key);
    cost_groups_put_number(key, by_line ? record->line : COST_NONE);
    cost_groups_put_number(key, groups->by == COST_BY_DELIVERY ? record->crank_num : COST_NONE);
    cost_groups_put_number(key, groups->by == COST_BY_DELIVERY ? record->delivery_num : COST_NONE);
    put_word(key, groups->by >= COST_BY_VAT ? record->vat_id : "");
    put_word(key, groups->by >= COST_BY_VAT ? record->vat : "");
    put_word(key, groups->by >= COST_BY_METHOD ? record->method : "");
    put_word(key, groups->by == COST_BY_FUNCTION ? record->function : "");
    put_word(key, groups->by <= COST_BY_LINE ? record->file : "");
}

static int64_t cost_groups_take_number(const char **key)
{
    int64_t number;

    memcpy(&number, *key, sizeof number);
    *key += sizeof number;
    return number;
}

static const char *take_word(const char **key)
{
    const char *word = *key;

    *key += strlen(word) + 1;
    return word;
}

static struct cost_group group_of_key(const char *key)
{
    struct cost_group group = {0};

    group.line = cost_groups_take_number(&key);
    group.crank_num = cost_groups_take_number(&key);
    group.delivery_num = cost_groups_take_number(&key);
    group.vat_id = take_word(&key);
    group.vat = take_word(&key);
    group.method = take_word(&key);
    group.function = take_word(&key);
    group.file = take_word(&key);
    return group;
}

/* ---- groups ---- */

static struct cost_group *cost_groups_find(struct cost_groups *groups,
                                           const struct cost_record *record)
{
    struct buf key = {0};
    struct cost_group *more;
    uint32_t number;

    put_key(groups, record, &key);
    number = buf_failed(&key) ? NAMES_NONE : names_intern(&groups->keys, key.data, key.length);
    buf_free(&key);
    if (number == NAMES_NONE)
        return NULL;
    if (number < groups->count)
        return &groups->groups[number];
    more = array_reserve(groups->groups, &groups->capacity, groups->count + 1, sizeof *more);
    if (more == NULL)
        return NULL;
    groups->groups = more;
    more[groups->count] = group_of_key(names_text(&groups->keys, number));
    return &more[groups->count++];
}

static int add_record(struct cost_groups *groups, enum cost_side side,
                      const struct cost_record *record, struct error *error)
{
    struct cost_group *group = cost_groups_find(groups, record);

    if (group == NULL)
        return error_memory(error, "the sums of a profile");
    add_costs(&group->sides[side], record);
    return 0;
}

/* ---- folded stacks ---- */

/* NAME or NAME (FILE:LINE), taken apart in place. */
static void read_frame(char *frame, struct cost_record *record)
{
    char *open = strstr(frame, " ("), *end = frame + strlen(frame), *colon, *next;
    struct scan_span line;

    record->function = frame;
    record->file = "";
    record->line = COST_NONE;
    /* A name may have such brackets, too; the last are the file's. */
    while (open != NULL && (next = strstr(open + 2, " (")) != NULL)
        open = next;
    if (open == NULL || end[-1] != ')' || (colon = strrchr(open, ':')) == NULL)
        return;
    line = (struct scan_span){colon + 1, (size_t)(end - 1 - (colon + 1))};
    if (!scan_decimal(line, 0, &record->line))
        return;
    *open = *colon = '\0';
    record->file = open + 2;
}

static bool is_in(char *const *frames, size_t count, const char *frame)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(frames[i], frame) == 0)
            return true;
    return false;
}

/* The frames of a stack, which is cut up; to be freed. NULL without memory. */
static char **split(char *stack, size_t *count)
{
    char **frames = calloc(strlen(stack) / 2 + 1, sizeof *frames);
    char *place = NULL;

    *count = 0;
    for (char *frame = strtok_r(stack, ";", &place); frames != NULL && frame != NULL;
         frame = strtok_r(NULL, ";", &place))
        frames[(*count)++] = frame;
    return frames;
}

/* The innermost function's self, and a part of the total of each. */
static int add_frames(struct cost_groups *groups, enum cost_side side,
                      const struct cost_record *stack, char **frames, size_t count,
                      struct error *error)
{
    /* From the innermost on, as a frame is taken apart when it is added. */
    for (size_t i = count; i-- > 0;) {
        struct cost_record record = *stack;

        if (is_in(frames, i, frames[i]) && i + 1 < count)
            continue;
        record.kind = COST_FUNCTION;
        record.self = i + 1 == count ? stack->self : 0;
        record.total = is_in(frames, i, frames[i]) ? 0 : stack->self;
        read_frame(frames[i], &record);
        if (add_record(groups, side, &record, error) != 0)
            return -1;
    }
    return 0;
}

static int add_stack(struct cost_groups *groups, enum cost_side side,
                     const struct cost_record *record, struct error *error)
{
    struct cost_record engine = *record;
    char *copy, **frames;
    size_t count;
    int result;

    if (record->stack[0] == '\0') {
        engine.function = "(engine)";
        engine.total = record->self;
        return add_record(groups, side, &engine, error);
    }
    copy = strdup(record->stack);
    frames = copy != NULL ? split(copy, &count) : NULL;
    if (frames == NULL)
        result = error_memory(error, "a stack");
    else
        result = add_frames(groups, side, record, frames, count, error);
    free(frames);
    free(copy);
    return result;
}

/* ---- */

int cost_groups_add(struct cost_groups *groups, enum cost_side side,
                    const struct cost_record *record, struct error *error)
{
    const enum cost_kind wanted = groups->by == COST_BY_LINE ? COST_LINE : COST_FUNCTION;
    struct cost_record sums;

    if (record->kind == COST_STACK && groups->by == COST_BY_FUNCTION) {
        add_costs(&groups->all[side], record);
        return add_stack(groups, side, record, error);
    }
    if (record->kind != wanted && (record->kind != COST_STACK || groups->by == COST_BY_LINE))
        return 0;
    add_costs(&groups->all[side], record);
    if (groups->by <= COST_BY_LINE)
        return add_record(groups, side, record, error);
    /* Of whole deliveries: all self of their functions; calls and totals would say nothing. */
    sums = *record;
    sums.calls = sums.total = sums.total_instructions = COST_NONE;
    return add_record(groups, side, &sums, error);
}

int64_t cost_group_difference(const struct cost_group *group)
{
    return saturate_subtract(group->sides[COST_NOW].self, group->sides[COST_BEFORE].self);
}

static uint64_t size_of(int64_t number)
{
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_names(const struct cost_group *a, const struct cost_group *b)
{
    const char *const left[] = {a->vat_id, a->vat, a->method, a->function, a->file};
    const char *const right[] = {b->vat_id, b->vat, b->method, b->function, b->file};
    int order = compare_numbers(a->crank_num, b->crank_num);

    for (size_t i = 0; order == 0 && i < sizeof left / sizeof *left; i++)
        order = strcmp(left[i], right[i]);
    if (order == 0)
        order = compare_numbers(a->line, b->line);
    return order != 0 ? order : compare_numbers(a->delivery_num, b->delivery_num);
}

/* A profile that is not compared had nothing before, so its difference is its self. */
static int compare_groups(const void *left, const void *right)
{
    const struct cost_group *a = left, *b = right;
    const uint64_t a_size = size_of(cost_group_difference(a));
    const uint64_t b_size = size_of(cost_group_difference(b));

    if (a_size != b_size)
        return a_size > b_size ? -1 : 1;
    if (a->sides[COST_NOW].total != b->sides[COST_NOW].total)
        return a->sides[COST_NOW].total > b->sides[COST_NOW].total ? -1 : 1;
    return compare_names(a, b);
}

void cost_groups_sort(struct cost_groups *groups)
{
    if (groups->count > 0)
        qsort(groups->groups, groups->count, sizeof *groups->groups, compare_groups);
}

void cost_groups_free(struct cost_groups *groups)
{
    names_free(&groups->keys);
    free(groups->groups);
    groups->groups = NULL;
    groups->count = groups->capacity = 0;
}
