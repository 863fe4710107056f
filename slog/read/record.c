/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/read/record.h"

#include <math.h>

#include "base/json/decimal.h"
#include "base/json/skip.h"

/* How a field's value is parsed. */
enum take { TAKE_TYPE, TAKE_TIME, TAKE_MONOTIME, TAKE_INTEGER, TAKE_BOOL, TAKE_STRING, TAKE_JSON };

struct field {
    enum take take;
    size_t offset; /* of the member in struct record */
};

/* Name, parser, member; the most frequent first. */
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
    X("mode", TAKE_STRING, mode)                                                                   \
    X("blockHeight", TAKE_INTEGER, block_height)                                                   \
    X("version", TAKE_INTEGER, version)                                                            \
    X("cpuWait", TAKE_INTEGER, cpu_wait)                                                           \
    X("workerCpuWait", TAKE_INTEGER, worker_cpu_wait)                                              \
    X("session", TAKE_STRING, session)                                                             \
    X("monoBase", TAKE_INTEGER, mono_base)

/* Comparisons with literals take a tenth of the time of a loop over a table. */
static const struct field *find_record_field(struct scan_span key)
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

/* The most frequent first. */
#define TYPES(X)                                                                                   \
    X("syscall", RECORD_SYSCALL)                                                                   \
    X("syscall-result", RECORD_SYSCALL_RESULT)                                                     \
    X("deliver", RECORD_DELIVER)                                                                   \
    X("deliver-result", RECORD_DELIVER_RESULT)                                                     \
    X("clist", RECORD_CLIST)                                                                       \
    X("console", RECORD_CONSOLE)                                                                   \
    X("crank-start", RECORD_CRANK_START)                                                           \
    X("crank-finish", RECORD_CRANK_FINISH)                                                         \
    X("create-vat", RECORD_CREATE_VAT)                                                             \
    X("start-replay", RECORD_START_REPLAY)                                                         \
    X("finish-replay", RECORD_FINISH_REPLAY)                                                       \
    X("slog-start", RECORD_SLOG_START)                                                             \
    X("vat-startup-start", RECORD_VAT_START)                                                       \
    X("vat-startup-finish", RECORD_VAT_STARTED)                                                    \
    X("heap-snapshot-save", RECORD_SNAPSHOT_SAVE)                                                  \
    X("heap-snapshot-load", RECORD_SNAPSHOT_LOAD)                                                  \
    X("vat-cleanup", RECORD_VAT_CLEANUP)                                                           \
    X("vat-cleanup-complete", RECORD_VAT_CLEANUP)                                                  \
    X("kernel-init-start", RECORD_KERNEL_START)                                                    \
    X("kernel-init-finish", RECORD_KERNEL_FINISH)                                                  \
    X("bundle-kernel-start", RECORD_KERNEL_START)                                                  \
    X("bundle-kernel-finish", RECORD_KERNEL_FINISH)                                                \
    X("import-kernel-start", RECORD_KERNEL_START)                                                  \
    X("import-kernel-finish", RECORD_KERNEL_FINISH)                                                \
    X("cosmic-swingset-run-start", RECORD_RUN_START)                                               \
    X("cosmic-swingset-run-finish", RECORD_RUN_FINISH)                                             \
    X("cosmic-swingset-begin-block", RECORD_BEGIN_BLOCK)                                           \
    X("cosmic-swingset-end-block-start", RECORD_END_BLOCK_START)                                   \
    X("cosmic-swingset-end-block-finish", RECORD_END_BLOCK)                                        \
    X("cosmic-swingset-commit-block-start", RECORD_COMMIT_START)                                   \
    X("cosmic-swingset-commit-block-finish", RECORD_COMMIT_FINISH)                                 \
    X("cosmic-swingset-commit-start", RECORD_COMMIT_START)                                         \
    X("cosmic-swingset-commit-finish", RECORD_COMMIT_FINISH)                                       \
    X("cosmic-swingset-after-commit-stats", RECORD_AFTER_COMMIT)                                   \
    X("cosmic-swingset-bridge-inbound", RECORD_INBOUND)                                            \
    X("cosmic-swingset-deliver-inbound", RECORD_INBOUND)                                           \
    X("cosmic-swingset-timer-poll", RECORD_INBOUND)                                                \
    X("cosmic-swingset-install-bundle", RECORD_INBOUND)                                            \
    X("cosmic-swingset-inject-kernel-upgrade-events", RECORD_INBOUND)                              \
    X("cosmic-swingset-bootstrap-block-start", RECORD_BOOTSTRAP_START)                             \
    X("cosmic-swingset-bootstrap-block-finish", RECORD_BOOTSTRAP_FINISH)                           \
    X("cosmic-swingset-upgrade-start", RECORD_UPGRADE_START)                                       \
    X("cosmic-swingset-upgrade-finish", RECORD_UPGRADE_FINISH)                                     \
    X("slog-record-too-big", RECORD_TOO_BIG)

static enum record_type find_type(struct scan_span name)
{
#define RETURN_IF_TYPE(text, type)                                                                 \
    if (scan_is(name, text))                                                                       \
        return type;
    TYPES(RETURN_IF_TYPE)
#undef RETURN_IF_TYPE
    if (scan_ends(name, "-start"))
        return RECORD_PHASE_START;
    return scan_ends(name, "-finish") ? RECORD_PHASE_FINISH : RECORD_OTHER;
}

/* In microseconds. */
static void record_set_time(struct record *record, int64_t time)
{
    if (time >= 0 && time < INT64_MAX / 1000)
        record->time = time * 1000;
}

/* A field whose value has the wrong type counts as absent. */
static void take_field(struct record *record, const struct field *field, struct scan_span value)
{
    void *member = (char *)record + field->offset;
    int64_t number;

    switch (field->take) {
    case TAKE_TIME:
        if (scan_decimal(value, 6, &number))
            record_set_time(record, number);
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
 * The members of the most frequent lines, in the order in which SwingSet and gaspipe write them. A
 * member in its expected place costs one comparison and no search for its end; the first member
 * elsewhere is left to record_take_member().
 */
#define EXPECTED_IN_SYSCALL(X)                                                                     \
    X("crankNum", expected_integer, &record->crank_num)                                            \
    X("vatID", expected_string, &record->vat_id)                                                   \
    X("deliveryNum", expected_integer, &record->delivery_num)                                      \
    X("syscallNum", expected_integer, &record->syscall_num)                                        \
    X("replay", expected_bool, &record->replay)                                                    \
    X("syscall", expected_string, &record->syscall)                                                \
    X("ksc", expected_array, &record->ksc)                                                         \
    X("vsc", expected_array, &record->vsc)                                                         \
    X("ksr", expected_answer, &record->ksr)                                                        \
    X("vsr", expected_answer, &record->vsr)                                                        \
    EXPECTED_AT_END(X)

#define EXPECTED_IN_DELIVERY(X)                                                                    \
    X("crankNum", expected_integer, &record->crank_num)                                            \
    X("vatID", expected_string, &record->vat_id)                                                   \
    X("deliveryNum", expected_integer, &record->delivery_num)                                      \
    X("replay", expected_bool, &record->replay)                                                    \
    X("dispatch", expected_string, &record->dispatch)                                              \
    X("kd", expected_array, &record->kd)                                                           \
    X("vd", expected_array, &record->vd)                                                           \
    X("dr", expected_array, &record->dr)                                                           \
    X("cpuWait", expected_integer, &record->cpu_wait)                                              \
    X("workerCpuWait", expected_integer, &record->worker_cpu_wait)                                 \
    EXPECTED_AT_END(X)

/* Cranks and c-lists; the values of `passed` are only skipped. */
#define EXPECTED_ELSEWHERE(X)                                                                      \
    X("crankType", expected_string, &passed)                                                       \
    X("crankNum", expected_integer, &record->crank_num)                                            \
    X("mode", expected_string, &record->mode)                                                      \
    X("vatID", expected_string, &record->vat_id)                                                   \
    X("deliveryNum", expected_integer, &record->delivery_num)                                      \
    X("kobj", expected_string, &passed)                                                            \
    X("vobj", expected_string, &passed)                                                            \
    X("messageType", expected_string, &passed)                                                     \
    X("message", expected_object, &passed)                                                         \
    X("crankNum", expected_integer, &record->crank_num)                                            \
    X("crankhash", expected_string, &passed)                                                       \
    X("activityhash", expected_string, &passed)                                                    \
    EXPECTED_AT_END(X)

/* `seconds` is skipped: the times of both lines give it. */
#define EXPECTED_AT_END(X)                                                                         \
    X("time", expected_time, &record->time)                                                        \
    X("monotime", expected_monotime, &record->monotime)                                            \
    X("seconds", expected_any, &passed)

/* Inlined, so that the scale is a constant where its number is parsed. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/*
 * Each parses the value at `at` and returns its end; NULL if it is not as expected, with nothing
 * stored.
 */

ALWAYS_INLINE const char *expected_decimal(const char *at, const char *end, int scale,
                                           int64_t *number)
{
    const char *after = decimal_read(at, end, scale, number);

    return __builtin_expect(after != NULL && after < end && (*after == ',' || *after == '}'), 1)
               ? after
               : NULL;
}

ALWAYS_INLINE const char *expected_integer(const char *at, const char *end, int64_t *member)
{
    int64_t number;

    at = expected_decimal(at, end, 0, &number);
    if (at != NULL)
        *member = number;
    return at;
}

ALWAYS_INLINE const char *expected_monotime(const char *at, const char *end, int64_t *member)
{
    int64_t number;

    at = expected_decimal(at, end, 9, &number);
    if (at != NULL)
        *member = number;
    return at;
}

ALWAYS_INLINE const char *expected_time(const char *at, const char *end, int64_t *member)
{
    int64_t number;

    at = expected_decimal(at, end, 6, &number);
    if (at == NULL || number < 0 || number >= INT64_MAX / 1000)
        return NULL;
    *member = number * 1000;
    return at;
}

ALWAYS_INLINE const char *expected_bool(const char *at, const char *end, bool *member)
{
    bool value = memcmp(at, "true", 4) == 0;
    const char *after = at + (value ? 4 : 5);

    if ((!value && memcmp(at, "false", 5) != 0) || after >= end || (*after != ',' && *after != '}'))
        return NULL;
    *member = value;
    return after;
}

ALWAYS_INLINE const char *expected_string(const char *at, const char *end, struct scan_span *member)
{
    const char *after = *at == '"' ? skip_string(at + 1, end) : NULL;

    if (after != NULL)
        *member = (struct scan_span){at + 1, (size_t)(after - at) - 2};
    return after;
}

ALWAYS_INLINE const char *expected_nested(const char *at, const char *end, char bracket,
                                          struct scan_span *member)
{
    const char *after = *at == bracket ? skip_nested(at, end) : NULL;

    if (after != NULL)
        *member = (struct scan_span){at, (size_t)(after - at)};
    return after;
}

ALWAYS_INLINE const char *expected_array(const char *at, const char *end, struct scan_span *member)
{
    return expected_nested(at, end, '[', member);
}

ALWAYS_INLINE const char *expected_object(const char *at, const char *end, struct scan_span *member)
{
    return expected_nested(at, end, '{', member);
}

ALWAYS_INLINE const char *expected_any(const char *at, const char *end, struct scan_span *member)
{
    const char *after = scan_skip(at, end);

    if (after != NULL)
        *member = (struct scan_span){at, (size_t)(after - at)};
    return after;
}

/* The bits in which the first 8 or 4 bytes differ. */
ALWAYS_INLINE uint64_t compare_words(const char *at, const char *text)
{
    uint64_t one, other;

    memcpy(&one, at, sizeof one);
    memcpy(&other, text, sizeof other);
    return one ^ other;
}

ALWAYS_INLINE uint32_t compare_half_words(const char *at, const char *text)
{
    uint32_t one, other;

    memcpy(&one, at, sizeof one);
    memcpy(&other, text, sizeof other);
    return one ^ other;
}

/*
 * True if the text at `at` is this one of 6 to 16 characters, compared as two words that may
 * overlap. Without __builtin_expect the compiler assumes that each of many comparisons in a row
 * fails, and optimises what follows for size.
 */
ALWAYS_INLINE bool is_next(const char *at, const char *text, size_t length)
{
    size_t last = length < 8 ? length - 4 : length - 8;
    uint64_t difference =
        length < 8 ? compare_half_words(at, text) | compare_half_words(at + last, text + last)
                   : compare_words(at, text) | compare_words(at + last, text + last);

    return __builtin_expect(difference == 0, 1);
}

/* Nearly all answers are this one. */
ALWAYS_INLINE const char *expected_answer(const char *at, const char *end, struct scan_span *member)
{
    static const char nothing[] = "[\"ok\",null]";

    if (!is_next(at, nothing, strlen(nothing)) || end - at <= (ptrdiff_t)strlen(nothing))
        return expected_array(at, end, member);
    *member = (struct scan_span){at, strlen(nothing)};
    return at + strlen(nothing);
}

/* The compared bytes may reach into the padding, the parsed value not. */
#define TAKE_IF_NEXT(name, take, member)                                                           \
    if (is_next(at, ",\"" name "\":", strlen(",\"" name "\":"))) {                                 \
        after = at + strlen(",\"" name "\":");                                                     \
        after = after < end ? take(after, end, member) : NULL;                                     \
        if (__builtin_expect(after == NULL, 0))                                                    \
            return at;                                                                             \
        at = after;                                                                                \
    }

/* Each returns the end of the last member that is as expected. */

static const char *take_in_syscall(const char *at, const char *end, struct record *record)
{
    struct scan_span passed;
    const char *after;

    EXPECTED_IN_SYSCALL(TAKE_IF_NEXT)
    return at;
}

static const char *take_in_delivery(const char *at, const char *end, struct record *record)
{
    struct scan_span passed;
    const char *after;

    EXPECTED_IN_DELIVERY(TAKE_IF_NEXT)
    return at;
}

static const char *take_elsewhere(const char *at, const char *end, struct record *record)
{
    struct scan_span passed;
    const char *after;

    EXPECTED_ELSEWHERE(TAKE_IF_NEXT)
    return at;
}
#undef TAKE_IF_NEXT

static inline const char *take_expected(const char *at, const char *end, struct record *record)
{
    switch (record->type) {
    case RECORD_SYSCALL:
    case RECORD_SYSCALL_RESULT:
        return take_in_syscall(at, end, record);
    case RECORD_DELIVER:
    case RECORD_DELIVER_RESULT:
        return take_in_delivery(at, end, record);
    default:
        return take_elsewhere(at, end, record);
    }
}

/* Parses the type if it comes first, and returns its end. */
static const char *take_type(const char *at, const char *end, struct scan_span *type)
{
    const char *value = at + strlen("{\"type\":"), *after;

    if (!is_next(at, "{\"type\":", strlen("{\"type\":")) || value >= end)
        return at;
    after = expected_string(value, end, type);
    return after != NULL ? after : at;
}

/* ---- lines ------------------------------------------------------------------ */

static bool refuse_line(const char **why, const char *reason)
{
    *why = reason;
    return false;
}

static const struct record nothing_said = {.time = RECORD_NONE,
                                           .monotime = RECORD_NONE,
                                           .crank_num = RECORD_NONE,
                                           .delivery_num = RECORD_NONE,
                                           .syscall_num = RECORD_NONE,
                                           .block_height = RECORD_NONE,
                                           .version = RECORD_NONE,
                                           .mono_base = RECORD_NONE,
                                           .cpu_wait = RECORD_NONE,
                                           .worker_cpu_wait = RECORD_NONE};

/* Two halves: the compiler copies them by wide moves, the whole by slow `rep movs`. */
static inline void record_clear(struct record *record)
{
    enum { HALF = sizeof *record / 2 };

    memcpy(record, &nothing_said, HALF);
    memcpy((char *)record + HALF, (const char *)&nothing_said + HALF, sizeof *record - HALF);
}

/* Parses a member in an unexpected place. Returns as scan_member(). */
static enum scan_step record_take_member(struct scan_cursor *cursor, struct record *record)
{
    const struct field *field;
    struct scan_span key, value;
    enum scan_step step = scan_member(cursor, &key, &value);

    if (step != SCAN_FOUND)
        return step;
    field = find_record_field(key);
    if (field != NULL && field->take == TAKE_TYPE) {
        record->type_name = scan_string(value);
        record->type = find_type(record->type_name);
    } else if (field != NULL) {
        take_field(record, field, value);
    }
    return step;
}

/* True if only the object's end is left, as nearly always. */
static inline bool is_last_bracket(const struct scan_cursor *cursor)
{
    return cursor->end - cursor->at == 1 && *cursor->at == '}';
}

/* Parses all members; the type may be the first or any other. */
static bool take_members(struct scan_cursor *cursor, struct record *record)
{
    enum scan_step step = SCAN_FOUND;

    cursor->at = take_type(cursor->at, cursor->end, &record->type_name);
    record->type = find_type(record->type_name);
    if (record->type_name.at == NULL)
        step = record_take_member(cursor, record);
    while (step == SCAN_FOUND) {
        cursor->at = take_expected(cursor->at, cursor->end, record);
        if (is_last_bracket(cursor))
            return true;
        step = record_take_member(cursor, record);
    }
    return step == SCAN_END && scan_at_end(cursor);
}

/* ---- lines with their context ---------------------------------------------------- */

/*
 * The context-aware slog of @agoric/telemetry moves these members from the body to attributes; for
 * console lines only the vat's.
 */
static void take_attribute(struct record *record, struct scan_span key, struct scan_span value)
{
    int64_t number;

    if (scan_is(key, "replay"))
        record->replay = scan_is(value, "true");
    else if (scan_is(key, "process.uptime") && scan_decimal(value, 9, &number))
        record->monotime = number;
    else if (scan_is(key, "crank.deliveryNum") && scan_decimal(value, 0, &number))
        record->delivery_num = number;
    else if (scan_is(key, "crank.syscallNum") && scan_decimal(value, 0, &number))
        record->syscall_num = number;
    else if (scan_is(key, "crank.num") && scan_decimal(value, 0, &number) &&
             record->type == RECORD_CONSOLE)
        record->crank_num = number;
}

/* Parses the body of `line`; false if it has none. */
static bool take_with_context(struct scan_span line, struct record *record)
{
    struct scan_span body = scan_get(line, "body"), time = scan_get(line, "time"), key, value;
    struct scan_cursor cursor;
    int64_t number;

    if (body.at == NULL || !scan_open(body, '{', &cursor) || !take_members(&cursor, record))
        return false;
    record->object = body;
    if (scan_decimal(time, 6, &number))
        record_set_time(record, number);
    if (scan_open(scan_get(line, "attributes"), '{', &cursor)) {
        while (scan_member(&cursor, &key, &value) == SCAN_FOUND)
            take_attribute(record, key, value);
    }
    return true;
}

/* ---- */

bool record_read_timeless(const char *line, size_t length, struct record *record, const char **why)
{
    struct scan_cursor cursor;

    record_clear(record);
    record->line = record->object = (struct scan_span){line, length};
    if (!scan_open(record->object, '{', &cursor))
        return refuse_line(why, scan_has_bom(line, length) ? SCAN_BOM_WHY : "not a JSON object");
    if (!take_members(&cursor, record))
        return refuse_line(why, "JSON that does not end as it should");
    if (record->type_name.at == NULL && !take_with_context(record->object, record))
        return refuse_line(why, "no \"type\"");
    return true;
}

bool record_read(const char *line, size_t length, struct record *record, const char **why)
{
    if (!record_read_timeless(line, length, record, why))
        return false;
    if (record->time == RECORD_NONE && record->type != RECORD_TOO_BIG)
        return refuse_line(why, "no \"time\"");
    return true;
}

struct scan_span record_member(const struct record *record, const char *name)
{
    return scan_get(record->object, name);
}

double record_number(const struct record *record, const char *name)
{
    struct scan_span value = record_member(record, name);
    double number;

    return value.at != NULL && scan_double(value, &number) ? number : NAN;
}
