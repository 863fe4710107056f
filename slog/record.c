/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/record.h"

#include "slog/decimal.h"
#include "slog/skip.h"

/* How a field's value is taken. */
enum take { TAKE_TYPE, TAKE_TIME, TAKE_MONOTIME, TAKE_INTEGER, TAKE_BOOL, TAKE_STRING, TAKE_JSON };

struct field {
    enum take take;
    size_t offset; /* of the member in struct record */
};

/* Name, how it is taken, member; the most frequent ones first. */
#define FIELDS(X)                                                                                  \
    X("type", TAKE_TYPE, type)                                                                     \
    X("time", TAKE_TIME, time)                                                                     \
    X("monotime", TAKE_MONOTIME, monotime)                                                         \
    X("vatID", TAKE_STRING, vat_id)                                                                \
    X("crankNum", TAKE_INTEGER, crank_num)                                                         \
    X("deliveryNum", TAKE_INTEGER, delivery_num)                                                   \
    X("replay", TAKE_BOOL, replay)                                                                 \
    X("syscallNum", TAKE_INTEGER, syscall_num)                                                     \
    X("syscall", TAKE_STRING, syscall)                                                             \
    X("ksc", TAKE_JSON, ksc)                                                                       \
    X("vsc", TAKE_JSON, vsc)                                                                       \
    X("ksr", TAKE_JSON, ksr)                                                                       \
    X("vsr", TAKE_JSON, vsr)                                                                       \
    X("dispatch", TAKE_STRING, dispatch)                                                           \
    X("kd", TAKE_JSON, kd)                                                                         \
    X("vd", TAKE_JSON, vd)                                                                         \
    X("dr", TAKE_JSON, dr)                                                                         \
    X("name", TAKE_STRING, name)                                                                   \
    X("blockHeight", TAKE_INTEGER, block_height)                                                   \
    X("version", TAKE_INTEGER, version)                                                            \
    X("session", TAKE_STRING, session)                                                             \
    X("monoBase", TAKE_INTEGER, mono_base)

/* Written out as comparisons with literals, which take a tenth of a table's time. */
static const struct field *find_field(struct scan_span key)
{
#define RETURN_IF_NAMED(name, take, member)                                                        \
    if (scan_is(key, name)) {                                                                      \
        static const struct field field = {take, offsetof(struct record, member)};                 \
        return &field;                                                                             \
    }
    FIELDS(RETURN_IF_NAMED)
#undef RETURN_IF_NAMED
    return NULL;
}

/* The most frequent ones first. */
#define TYPES(X)                                                                                   \
    X("syscall", RECORD_SYSCALL)                                                                   \
    X("syscall-result", RECORD_SYSCALL_RESULT)                                                     \
    X("deliver", RECORD_DELIVER)                                                                   \
    X("deliver-result", RECORD_DELIVER_RESULT)                                                     \
    X("console", RECORD_CONSOLE)                                                                   \
    X("crank-start", RECORD_CRANK_START)                                                           \
    X("crank-finish", RECORD_CRANK_FINISH)                                                         \
    X("create-vat", RECORD_CREATE_VAT)                                                             \
    X("start-replay", RECORD_START_REPLAY)                                                         \
    X("finish-replay", RECORD_FINISH_REPLAY)                                                       \
    X("slog-start", RECORD_SLOG_START)                                                             \
    X("kernel-init-start", RECORD_KERNEL_START)                                                    \
    X("bundle-kernel-start", RECORD_KERNEL_START)                                                  \
    X("import-kernel-start", RECORD_KERNEL_START)                                                  \
    X("cosmic-swingset-begin-block", RECORD_BEGIN_BLOCK)                                           \
    X("cosmic-swingset-end-block-finish", RECORD_END_BLOCK)

static enum record_type find_type(struct scan_span name)
{
#define RETURN_IF_TYPE(text, type)                                                                 \
    if (scan_is(name, text))                                                                       \
        return type;
    TYPES(RETURN_IF_TYPE)
#undef RETURN_IF_TYPE
    return RECORD_OTHER;
}

/* In microseconds. */
static void set_time(struct record *record, int64_t time)
{
    if (time >= 0 && time < INT64_MAX / 1000)
        record->time = time * 1000;
}

/* A field whose value is of another kind than it should be counts as not there. */
static void take_field(struct record *record, const struct field *field, struct scan_span value)
{
    void *member = (char *)record + field->offset;
    int64_t number;

    switch (field->take) {
    case TAKE_TIME:
        if (scan_decimal(value, 6, &number))
            set_time(record, number);
        break;
    case TAKE_MONOTIME:
        if (scan_decimal(value, 9, &number))
            record->monotime = number;
        break;
    case TAKE_INTEGER:
        if (scan_decimal(value, 0, &number))
            memcpy(member, &number, sizeof number);
        break;
    case TAKE_BOOL:
        record->replay = scan_is(value, "true");
        break;
    case TAKE_STRING:
        value = scan_string(value);
        memcpy(member, &value, sizeof value);
        break;
    case TAKE_JSON:
        memcpy(member, &value, sizeof value);
        break;
    case TAKE_TYPE:
        break;
    }
}

/* ---- members where SwingSet has them -------------------------------------- */

/*
 * The members of the lines that are most of a slogfile, in the order in which
 * SwingSet and we write them. What comes as foreseen is taken with a comparison
 * and without a look for its end first; the first thing that does not is left to
 * what takes any member.
 */
#define FORESEEN(X)                                                                                \
    X("crankNum", foreseen_integer, crank_num)                                                     \
    X("vatID", foreseen_string, vat_id)                                                            \
    X("deliveryNum", foreseen_integer, delivery_num)                                               \
    X("syscallNum", foreseen_integer, syscall_num)                                                 \
    X("replay", foreseen_bool, replay)                                                             \
    X("dispatch", foreseen_string, dispatch)                                                       \
    X("syscall", foreseen_string, syscall)                                                         \
    X("kd", foreseen_json, kd)                                                                     \
    X("vd", foreseen_json, vd)                                                                     \
    X("ksc", foreseen_json, ksc)                                                                   \
    X("vsc", foreseen_json, vsc)                                                                   \
    X("ksr", foreseen_json, ksr)                                                                   \
    X("vsr", foreseen_json, vsr)                                                                   \
    X("dr", foreseen_json, dr)                                                                     \
    X("time", foreseen_time, time)                                                                 \
    X("monotime", foreseen_monotime, monotime)

/* In place, so that a scale is a constant where its number is read. */
#define FORESEEING static inline __attribute__((always_inline))

/* Each takes the value at `at` and returns behind it; NULL: not as foreseen, nothing is taken. */

FORESEEING const char *foreseen_decimal(const char *at, const char *end, int scale, int64_t *number)
{
    const char *after = decimal_read(at, end, scale, number);

    return after != NULL && after < end && (*after == ',' || *after == '}') ? after : NULL;
}

FORESEEING const char *foreseen_integer(const char *at, const char *end, int64_t *member)
{
    int64_t number;

    at = foreseen_decimal(at, end, 0, &number);
    if (at != NULL)
        *member = number;
    return at;
}

FORESEEING const char *foreseen_monotime(const char *at, const char *end, int64_t *member)
{
    int64_t number;

    at = foreseen_decimal(at, end, 9, &number);
    if (at != NULL)
        *member = number;
    return at;
}

FORESEEING const char *foreseen_time(const char *at, const char *end, int64_t *member)
{
    int64_t number;

    at = foreseen_decimal(at, end, 6, &number);
    if (at == NULL || number < 0 || number >= INT64_MAX / 1000)
        return NULL;
    *member = number * 1000;
    return at;
}

FORESEEING const char *foreseen_bool(const char *at, const char *end, bool *member)
{
    bool value = memcmp(at, "true", 4) == 0;
    const char *after = at + (value ? 4 : 5);

    if ((!value && memcmp(at, "false", 5) != 0) || after >= end || (*after != ',' && *after != '}'))
        return NULL;
    *member = value;
    return after;
}

FORESEEING const char *foreseen_string(const char *at, const char *end, struct scan_span *member)
{
    const char *after = *at == '"' ? skip_string(at + 1, end) : NULL;

    if (after != NULL)
        *member = (struct scan_span){at + 1, (size_t)(after - at) - 2};
    return after;
}

FORESEEING const char *foreseen_json(const char *at, const char *end, struct scan_span *member)
{
    const char *after = *at == '[' ? skip_nested(at, end) : NULL;

    if (after != NULL)
        *member = (struct scan_span){at, (size_t)(after - at)};
    return after;
}

/* What differs between the first 8 or 4 bytes. */
FORESEEING uint64_t word(const char *at, const char *text)
{
    uint64_t one, other;

    memcpy(&one, at, sizeof one);
    memcpy(&other, text, sizeof other);
    return one ^ other;
}

FORESEEING uint32_t half_word(const char *at, const char *text)
{
    uint32_t one, other;

    memcpy(&one, at, sizeof one);
    memcpy(&other, text, sizeof other);
    return one ^ other;
}

/*
 * Whether the text at `at` is this one, of 6 to 16 characters: two words that may
 * overlap. Of many comparisons after each other the compiler takes each for one that
 * fails, and saves space rather than time on what comes then: so it is told.
 */
FORESEEING bool is_next(const char *at, const char *text, size_t length)
{
    size_t last = length < 8 ? length - 4 : length - 8;
    uint64_t difference = length < 8 ? half_word(at, text) | half_word(at + last, text + last)
                                     : word(at, text) | word(at + last, text + last);

    return __builtin_expect(difference == 0, 1);
}

/* Behind how long something took, which the moments of both its lines say. */
static inline const char *skip_seconds(const char *at, const char *end)
{
    const char *value = at + strlen(",\"seconds\":"), *after;
    int64_t number;

    if (!is_next(at, ",\"seconds\":", strlen(",\"seconds\":")) || value >= end)
        return at;
    after = foreseen_decimal(value, end, 0, &number);
    return after != NULL ? after : at;
}

/* From behind one member to behind the last one that is as foreseen. */
static const char *take_foreseen(const char *at, const char *end, struct record *record)
{
    const char *after;

    /* What is compared may stand in the padding, but what is taken does not. */
#define TAKE_IF_NEXT(name, take, member)                                                           \
    if (is_next(at, ",\"" name "\":", strlen(",\"" name "\":"))) {                                 \
        after = at + strlen(",\"" name "\":");                                                     \
        after = after < end ? take(after, end, &record->member) : NULL;                            \
        if (after == NULL)                                                                         \
            return at;                                                                             \
        at = after;                                                                                \
    }
    FORESEEN(TAKE_IF_NEXT)
#undef TAKE_IF_NEXT
    return skip_seconds(at, end);
}

/* From the beginning of the line to behind its type, when that comes first. */
static const char *take_type(const char *at, const char *end, struct scan_span *type)
{
    const char *value = at + strlen("{\"type\":"), *after;

    if (!is_next(at, "{\"type\":", strlen("{\"type\":")) || value >= end)
        return at;
    after = foreseen_string(value, end, type);
    return after != NULL ? after : at;
}

/* ---- lines ------------------------------------------------------------------ */

static bool refuse(const char **why, const char *reason)
{
    *why = reason;
    return false;
}

bool record_read(const char *line, size_t length, struct record *record, const char **why)
{
    struct scan_span key, value, type = {0};
    struct scan_cursor cursor;
    enum scan_step step;

    *record = (struct record){.time = RECORD_NONE,
                              .monotime = RECORD_NONE,
                              .crank_num = RECORD_NONE,
                              .delivery_num = RECORD_NONE,
                              .syscall_num = RECORD_NONE,
                              .block_height = RECORD_NONE,
                              .version = RECORD_NONE,
                              .mono_base = RECORD_NONE};
    if (!scan_open((struct scan_span){line, length}, '{', &cursor))
        return refuse(why, "not a JSON object");
    cursor.at = take_type(cursor.at, cursor.end, &type);
    if (type.at != NULL)
        cursor.at = take_foreseen(cursor.at, cursor.end, record);
    while ((step = scan_member(&cursor, &key, &value)) == SCAN_FOUND) {
        const struct field *field = find_field(key);

        if (field != NULL && field->take == TAKE_TYPE)
            type = scan_string(value);
        else if (field != NULL)
            take_field(record, field, value);
        cursor.at = take_foreseen(cursor.at, cursor.end, record);
    }
    if (step != SCAN_END || !scan_at_end(&cursor))
        return refuse(why, "JSON that does not end as it should");
    if (type.at == NULL)
        return refuse(why, "no \"type\"");
    if (record->time == RECORD_NONE)
        return refuse(why, "no \"time\"");
    record->type = find_type(type);
    return true;
}
