/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/cost_file.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/json/scan.h"
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

/* A line taken apart; texts[i] lie in `words`, each ended by '\0'. */
struct parts {
    struct buf words;
    size_t texts[TEXTS]; /* where they begin; 0: the empty word in front */
    int64_t numbers[NUMBERS];
};

static bool take_text(struct parts *parts, enum text which, struct scan_span value)
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
            return take_text(parts, (enum text)i, value);
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

/* A native function has no computrons, but one of these. */
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

/* A record of a kind of later versions is passed over: *known is false. */
static bool read_json(struct parts *parts, struct scan_span line, struct cost_record *record,
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

/* The text up to the next `;`, which is ended there; *rest is what follows. */
static const char *cut(char *text, char **rest)
{
    char *end = strchr(text, ';');

    *rest = end != NULL ? end + 1 : text + strlen(text);
    if (end != NULL)
        *end = '\0';
    return text;
}

/* Frames of native functions are MODULE`FUNCTION, from the outermost on, or MODULE!FUNCTION. */
static enum cost_unit unit_of(const char *stack)
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
    record->vat = cut(parts->words.data, &rest);
    record->method = cut(rest, &rest);
    record->stack = rest;
    record->unit = unit_of(rest);
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
    good = good && (*line->bytes == '{' ? read_json(parts, text, &record, &known)
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
