/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/cost_groups.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/json/scan.h"
#include "base/number.h"
#include "slog/read/reader.h"

/* ---- JSON lines ---- */

const char *const cost_unit_names[COST_UNITS] = {
    [COST_COMPUTRONS] = "computrons",
    [COST_INSTRUCTIONS] = "instructions",
    [COST_NANOSECONDS] = "nanoseconds",
    [COST_BLOCK_COST] = "block cost",
};

enum text {
    TEXT_KIND,
    TEXT_VAT_ID,
    TEXT_VAT,
    TEXT_METHOD,
    TEXT_FUNCTION,
    TEXT_MODULE,
    TEXT_FILE,
    TEXTS
};

static const char *const text_names[TEXTS] = {
    [TEXT_KIND] = "kind",     [TEXT_VAT_ID] = "vatID",      [TEXT_VAT] = "vat",
    [TEXT_METHOD] = "method", [TEXT_FUNCTION] = "function", [TEXT_MODULE] = "module",
    [TEXT_FILE] = "file",
};

enum number {
    NUMBER_CRANK,
    NUMBER_DELIVERY,
    NUMBER_LINE,
    NUMBER_CALLS,
    NUMBER_SELF,
    NUMBER_TOTAL,
    NUMBER_SELF_INSTRUCTIONS,
    NUMBER_TOTAL_INSTRUCTIONS,
    NUMBER_SELF_NANOSECONDS,
    NUMBER_TOTAL_NANOSECONDS,
    NUMBER_SELF_BLOCK_COST,
    NUMBER_TOTAL_BLOCK_COST,
    NUMBERS
};

static const char *const number_names[NUMBERS] = {
    [NUMBER_CRANK] = "crankNum",
    [NUMBER_DELIVERY] = "deliveryNum",
    [NUMBER_LINE] = "line",
    [NUMBER_CALLS] = "calls",
    [NUMBER_SELF] = "self",
    [NUMBER_TOTAL] = "total",
    [NUMBER_SELF_INSTRUCTIONS] = "selfInstructions",
    [NUMBER_TOTAL_INSTRUCTIONS] = "totalInstructions",
    [NUMBER_SELF_NANOSECONDS] = "selfNanoseconds",
    [NUMBER_TOTAL_NANOSECONDS] = "totalNanoseconds",
    [NUMBER_SELF_BLOCK_COST] = "selfBlockCost",
    [NUMBER_TOTAL_BLOCK_COST] = "totalBlockCost",
};

/* A parsed line. texts[i] are offsets in `words`, each text with its '\0'. */
struct parts {
    struct buf words;
    size_t texts[TEXTS]; /* 0 is the empty text at the beginning */
    int64_t numbers[NUMBERS];
};

static bool take_cost_text(struct parts *parts, enum text which, struct scan_span value)
{
    const struct scan_span string = scan_string(value);

    if (string.at == NULL)
        return scan_is(value, "null");
    parts->texts[which] = parts->words.length;
    scan_unescape(string, &parts->words);
    buf_append_byte(&parts->words, '\0');
    return true;
}

static bool cost_file_take_member(struct parts *parts, struct scan_span key, struct scan_span value)
{
    for (int i = 0; i < TEXTS; i++)
        if (scan_is(key, text_names[i]))
            return take_cost_text(parts, (enum text)i, value);
    for (int i = 0; i < NUMBERS; i++)
        if (scan_is(key, number_names[i]))
            return scan_is(value, "null") || scan_decimal(value, 0, &parts->numbers[i]);
    return true;
}

static bool take_apart(struct parts *parts, struct scan_span line)
{
    struct scan_span key, value;
    struct scan_cursor cursor;
    enum scan_step step;

    buf_clear(&parts->words);
    buf_append_byte(&parts->words, '\0');
    memset(parts->texts, 0, sizeof parts->texts);
    for (int i = 0; i < NUMBERS; i++)
        parts->numbers[i] = COST_NONE;
    if (!scan_open(line, '{', &cursor))
        return false;
    while ((step = scan_member(&cursor, &key, &value)) == SCAN_FOUND)
        if (!cost_file_take_member(parts, key, value))
            return false;
    return step == SCAN_END && scan_at_end(&cursor);
}

/* A native function has one of these instead of computrons. */
static void use_native(const struct parts *parts, struct cost_record *record)
{
    static const struct {
        enum cost_unit unit;
        enum number self, total;
    } units[] = {
        {COST_NANOSECONDS, NUMBER_SELF_NANOSECONDS, NUMBER_TOTAL_NANOSECONDS},
        {COST_BLOCK_COST, NUMBER_SELF_BLOCK_COST, NUMBER_TOTAL_BLOCK_COST},
        {COST_INSTRUCTIONS, NUMBER_SELF_INSTRUCTIONS, NUMBER_TOTAL_INSTRUCTIONS},
    };
    size_t i = 0;

    while (i + 1 < sizeof units / sizeof *units && parts->numbers[units[i].self] == COST_NONE)
        i++;
    record->unit = units[i].unit;
    record->self = parts->numbers[units[i].self];
    record->total = parts->numbers[units[i].total];
    record->self_instructions = record->total_instructions = COST_NONE;
    if (record->file[0] == '\0')
        record->file = parts->words.data + parts->texts[TEXT_MODULE];
}

/* A record of an unknown kind, of a later version, sets *known to false. */
static bool read_cost_line(struct parts *parts, struct scan_span line, struct cost_record *record,
                           bool *known)
{
    const char *words, *kind;

    if (!take_apart(parts, line) || buf_failed(&parts->words))
        return false;
    words = parts->words.data;
    kind = words + parts->texts[TEXT_KIND];
    if (kind[0] == '\0')
        return false;
    *known = strcmp(kind, "function") == 0 || strcmp(kind, "line") == 0;
    *record = (struct cost_record){
        .kind = strcmp(kind, "line") == 0 ? COST_LINE : COST_FUNCTION,
        .vat_id = words + parts->texts[TEXT_VAT_ID],
        .vat = words + parts->texts[TEXT_VAT],
        .method = words + parts->texts[TEXT_METHOD],
        .crank_num = parts->numbers[NUMBER_CRANK],
        .delivery_num = parts->numbers[NUMBER_DELIVERY],
        .function = words + parts->texts[TEXT_FUNCTION],
        .file = words + parts->texts[TEXT_FILE],
        .line = parts->numbers[NUMBER_LINE],
        .stack = "",
        .calls = parts->numbers[NUMBER_CALLS],
        .self = parts->numbers[NUMBER_SELF],
        .total = parts->numbers[NUMBER_TOTAL],
        .self_instructions = parts->numbers[NUMBER_SELF_INSTRUCTIONS],
        .total_instructions = parts->numbers[NUMBER_TOTAL_INSTRUCTIONS],
    };
    if (record->self == COST_NONE)
        use_native(parts, record);
    return !*known || record->self != COST_NONE;
}

/* ---- folded stacks ---- */

/* Ends the text at the next `;`; *rest is what follows. */
static const char *cut_at_semicolon(char *text, char **rest)
{
    char *end = strchr(text, ';');

    *rest = end != NULL ? end + 1 : text + strlen(text);
    if (end != NULL)
        *end = '\0';
    return text;
}

/* Frames of native functions are MODULE`FUNCTION or MODULE!FUNCTION, the outermost first. */
static enum cost_unit unit_of_stack(const char *stack)
{
    const size_t length = strcspn(stack, "`!; ");

    if (length > 0 && stack[length] == '`')
        return COST_INSTRUCTIONS;
    return length > 0 && stack[length] == '!' ? COST_BLOCK_COST : COST_COMPUTRONS;
}

/* VAT;METHOD;FRAME;... COST */
static bool read_folded(struct parts *parts, struct scan_span line, struct cost_record *record)
{
    const char *blank = memrchr(line.at, ' ', line.length);
    char *rest;

    *record = (struct cost_record){
        .kind = COST_STACK,
        .vat_id = "",
        .function = "",
        .file = "",
        .crank_num = COST_NONE,
        .delivery_num = COST_NONE,
        .line = COST_NONE,
        .calls = COST_NONE,
        .total = COST_NONE,
        .self_instructions = COST_NONE,
        .total_instructions = COST_NONE,
    };
    if (blank == NULL ||
        !scan_decimal((struct scan_span){blank + 1, line.length - (size_t)(blank + 1 - line.at)}, 0,
                      &record->self))
        return false;
    buf_clear(&parts->words);
    buf_append(&parts->words, line.at, (size_t)(blank - line.at));
    if (buf_string(&parts->words) == NULL || strlen(parts->words.data) != parts->words.length)
        return false;
    record->vat = cut_at_semicolon(parts->words.data, &rest);
    record->method = cut_at_semicolon(rest, &rest);
    record->stack = rest;
    record->unit = unit_of_stack(rest);
    return true;
}

/* ---- files ---- */

static int visit_line(const char *path, const struct reader_line *line, struct parts *parts,
                      cost_visit *visit, void *context, struct error *error)
{
    const struct scan_span text = {line->bytes, line->length};
    struct cost_record record;
    bool known = true, good = !line->too_long;

    if (line->length == 0)
        return 0;
    good = good && (*line->bytes == '{' ? read_cost_line(parts, text, &record, &known)
                                        : read_folded(parts, text, &record));
    if (buf_failed(&parts->words))
        return error_memory(error, "a profile");
    if (!good)
        return line->torn ? 0
                          : error_set(error, ERROR_INPUT,
                                      "%s:%" PRIu64 ": not a line of a profile, as gaspipe run "
                                      "--profile or --profile-folded writes it",
                                      path, line->number);
    return known ? visit(context, &record, error) : 0;
}

int cost_file_read(const char *path, cost_visit *visit, void *context, struct error *error)
{
    struct reader *reader = reader_open(path, error);
    struct reader_line line;
    struct parts parts = {0};
    int result;

    if (reader == NULL)
        return -1;
    while ((result = reader_next(reader, false, &line, error)) == 1 &&
           visit_line(path, &line, &parts, visit, context, error) == 0)
        continue;
    buf_free(&parts.words);
    reader_close(reader);
    return result == 0 ? 0 : -1;
}

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

static void key_put_word(struct buf *key, const char *word)
{
    buf_append(key, word, strlen(word) + 1);
}

static void cost_groups_put_number(struct buf *key, int64_t number)
{
    buf_append(key, &number, sizeof number);
}

/* Makes the key of a group: numbers, then texts. */
static void put_key(const struct cost_groups *groups, const struct cost_record *record,
                    struct buf *key)
{
    const bool by_line =
        groups->by == COST_BY_LINE || (groups->by == COST_BY_FUNCTION && !groups->compared);

    buf_clear(key);
    cost_groups_put_number(key, by_line ? record->line : COST_NONE);
    cost_groups_put_number(key, groups->by == COST_BY_DELIVERY ? record->crank_num : COST_NONE);
    cost_groups_put_number(key, groups->by == COST_BY_DELIVERY ? record->delivery_num : COST_NONE);
    key_put_word(key, groups->by >= COST_BY_VAT ? record->vat_id : "");
    key_put_word(key, groups->by >= COST_BY_VAT ? record->vat : "");
    key_put_word(key, groups->by >= COST_BY_METHOD ? record->method : "");
    key_put_word(key, groups->by == COST_BY_FUNCTION ? record->function : "");
    key_put_word(key, groups->by <= COST_BY_LINE ? record->file : "");
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

/* Splits NAME or NAME (FILE:LINE) in place. */
static void read_frame(char *frame, struct cost_record *record)
{
    char *open = strstr(frame, " ("), *end = frame + strlen(frame), *colon, *next;
    struct scan_span line;

    record->function = frame;
    record->file = "";
    record->line = COST_NONE;
    /* A name may contain parentheses; the last are the file's. */
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

/* Splits a stack in place into frames, to be freed. NULL when out of memory. */
static char **split_stack(char *stack, size_t *count)
{
    char **frames = calloc(strlen(stack) / 2 + 1, sizeof *frames);
    char *place = NULL;

    *count = 0;
    for (char *frame = strtok_r(stack, ";", &place); frames != NULL && frame != NULL;
         frame = strtok_r(NULL, ";", &place))
        frames[(*count)++] = frame;
    return frames;
}

/* Adds self to the innermost function, and total to each. */
static int add_frames(struct cost_groups *groups, enum cost_side side,
                      const struct cost_record *stack, char **frames, size_t count,
                      struct error *error)
{
    /* The innermost first, since adding a frame splits it. */
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

static int cost_groups_add_stack(struct cost_groups *groups, enum cost_side side,
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
    frames = copy != NULL ? split_stack(copy, &count) : NULL;
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
        return cost_groups_add_stack(groups, side, record, error);
    }
    if (record->kind != wanted && (record->kind != COST_STACK || groups->by == COST_BY_LINE))
        return 0;
    add_costs(&groups->all[side], record);
    if (groups->by <= COST_BY_LINE)
        return add_record(groups, side, record, error);
    /* Whole deliveries: only the sum of self is meaningful. */
    sums = *record;
    sums.calls = sums.total = sums.total_instructions = COST_NONE;
    return add_record(groups, side, &sums, error);
}

int64_t cost_group_difference(const struct cost_group *group)
{
    return saturate_subtract(group->sides[COST_NOW].self, group->sides[COST_BEFORE].self);
}

static uint64_t magnitude_of(int64_t number)
{
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_group_names(const struct cost_group *a, const struct cost_group *b)
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

/* The difference of a single profile is its self. */
static int compare_cost_groups(const void *left, const void *right)
{
    const struct cost_group *a = left, *b = right;
    const uint64_t a_size = magnitude_of(cost_group_difference(a));
    const uint64_t b_size = magnitude_of(cost_group_difference(b));

    if (a_size != b_size)
        return a_size > b_size ? -1 : 1;
    if (a->sides[COST_NOW].total != b->sides[COST_NOW].total)
        return a->sides[COST_NOW].total > b->sides[COST_NOW].total ? -1 : 1;
    return compare_group_names(a, b);
}

void cost_groups_sort(struct cost_groups *groups)
{
    if (groups->count > 0)
        qsort(groups->groups, groups->count, sizeof *groups->groups, compare_cost_groups);
}

void cost_groups_free(struct cost_groups *groups)
{
    names_free(&groups->keys);
    free(groups->groups);
    groups->groups = NULL;
    groups->count = groups->capacity = 0;
}
