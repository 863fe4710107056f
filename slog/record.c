/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/record.h"

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

#define TYPE(name, type)                                                                           \
    {                                                                                              \
        name, sizeof(name) - 1, type                                                               \
    }

/* The most frequent ones first. */
static const struct {
    const char *name;
    size_t length;
    enum record_type type;
} type_names[] = {
    TYPE("syscall", RECORD_SYSCALL),
    TYPE("syscall-result", RECORD_SYSCALL_RESULT),
    TYPE("deliver", RECORD_DELIVER),
    TYPE("deliver-result", RECORD_DELIVER_RESULT),
    TYPE("console", RECORD_CONSOLE),
    TYPE("crank-start", RECORD_CRANK_START),
    TYPE("crank-finish", RECORD_CRANK_FINISH),
    TYPE("create-vat", RECORD_CREATE_VAT),
    TYPE("start-replay", RECORD_START_REPLAY),
    TYPE("finish-replay", RECORD_FINISH_REPLAY),
    TYPE("slog-start", RECORD_SLOG_START),
    TYPE("kernel-init-start", RECORD_KERNEL_START),
    TYPE("bundle-kernel-start", RECORD_KERNEL_START),
    TYPE("import-kernel-start", RECORD_KERNEL_START),
    TYPE("cosmic-swingset-begin-block", RECORD_BEGIN_BLOCK),
    TYPE("cosmic-swingset-end-block-finish", RECORD_END_BLOCK),
};

static enum record_type find_type(struct scan_span name)
{
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        if (name.length == type_names[i].length &&
            memcmp(name.at, type_names[i].name, name.length) == 0)
            return type_names[i].type;
    }
    return RECORD_OTHER;
}

/* A field whose value is of another kind than it should be counts as not there. */
static void take_field(struct record *record, const struct field *field, struct scan_span value)
{
    void *member = (char *)record + field->offset;
    int64_t number;

    switch (field->take) {
    case TAKE_TIME:
        if (scan_decimal(value, 6, &number) && number < INT64_MAX / 1000 && number >= 0)
            record->time = number * 1000;
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
    while ((step = scan_member(&cursor, &key, &value)) == SCAN_FOUND) {
        const struct field *field = find_field(key);

        if (field == NULL)
            continue;
        if (field->take == TAKE_TYPE)
            type = scan_string(value);
        else
            take_field(record, field, value);
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
