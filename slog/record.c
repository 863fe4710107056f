/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/record.h"

/* How a field's value is taken. */
enum take { TAKE_TYPE, TAKE_TIME, TAKE_MONOTIME, TAKE_INTEGER, TAKE_BOOL, TAKE_STRING, TAKE_JSON };

struct field {
    const char *name;
    enum take take;
    size_t offset; /* of the member in struct record */
};

#define FIELD(name, take, member)                                                                  \
    {                                                                                              \
        name, take, offsetof(struct record, member)                                                \
    }

/* By length of the name, each group ended by an entry without name. */
static const struct field fields_of_2[] = {
    FIELD("kd", TAKE_JSON, kd), FIELD("vd", TAKE_JSON, vd), FIELD("dr", TAKE_JSON, dr), {0}};
static const struct field fields_of_3[] = {
    FIELD("ksc", TAKE_JSON, ksc), FIELD("vsc", TAKE_JSON, vsc), {0}};
static const struct field fields_of_4[] = {FIELD("type", TAKE_TYPE, type),
                                           FIELD("time", TAKE_TIME, time),
                                           FIELD("name", TAKE_STRING, name),
                                           {0}};
static const struct field fields_of_5[] = {FIELD("vatID", TAKE_STRING, vat_id), {0}};
static const struct field fields_of_6[] = {FIELD("replay", TAKE_BOOL, replay), {0}};
static const struct field fields_of_7[] = {FIELD("syscall", TAKE_STRING, syscall),
                                           FIELD("version", TAKE_INTEGER, version),
                                           FIELD("session", TAKE_STRING, session),
                                           {0}};
static const struct field fields_of_8[] = {FIELD("crankNum", TAKE_INTEGER, crank_num),
                                           FIELD("monotime", TAKE_MONOTIME, monotime),
                                           FIELD("dispatch", TAKE_STRING, dispatch),
                                           FIELD("monoBase", TAKE_INTEGER, mono_base),
                                           {0}};
static const struct field fields_of_10[] = {FIELD("syscallNum", TAKE_INTEGER, syscall_num), {0}};
static const struct field fields_of_11[] = {FIELD("deliveryNum", TAKE_INTEGER, delivery_num),
                                            FIELD("blockHeight", TAKE_INTEGER, block_height),
                                            {0}};

enum { LONGEST_NAME = 11 };

static const struct field *const fields_by_length[LONGEST_NAME + 1] = {
    [2] = fields_of_2, [3] = fields_of_3,   [4] = fields_of_4,
    [5] = fields_of_5, [6] = fields_of_6,   [7] = fields_of_7,
    [8] = fields_of_8, [10] = fields_of_10, [11] = fields_of_11,
};

static const struct field *find_field(struct scan_span key)
{
    const struct field *field;

    if (key.length > LONGEST_NAME || fields_by_length[key.length] == NULL)
        return NULL;
    for (field = fields_by_length[key.length]; field->name != NULL; field++) {
        if (memcmp(field->name, key.at, key.length) == 0)
            return field;
    }
    return NULL;
}

static const struct {
    const char *name;
    enum record_type type;
} type_names[] = {
    {"syscall", RECORD_SYSCALL},
    {"syscall-result", RECORD_SYSCALL_RESULT},
    {"deliver", RECORD_DELIVER},
    {"deliver-result", RECORD_DELIVER_RESULT},
    {"console", RECORD_CONSOLE},
    {"crank-start", RECORD_CRANK_START},
    {"crank-finish", RECORD_CRANK_FINISH},
    {"create-vat", RECORD_CREATE_VAT},
    {"start-replay", RECORD_START_REPLAY},
    {"finish-replay", RECORD_FINISH_REPLAY},
    {"slog-start", RECORD_SLOG_START},
    {"kernel-init-start", RECORD_KERNEL_START},
    {"bundle-kernel-start", RECORD_KERNEL_START},
    {"import-kernel-start", RECORD_KERNEL_START},
    {"cosmic-swingset-begin-block", RECORD_BEGIN_BLOCK},
    {"cosmic-swingset-end-block-finish", RECORD_END_BLOCK},
};

static enum record_type find_type(struct scan_span name)
{
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        if (scan_is(name, type_names[i].name))
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
