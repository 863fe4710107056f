/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "proto/command.h"
#include "proto/meter.h"

/*
 * A record comes with each delivery, and building a tree of its JSON took as
 * long as the rest of the delivery's way through the pipe. So it is read in one
 * pass, with what it may hold in a table; of values that are in none only the
 * end is looked for.
 */

/* Beyond this (the year 2255) a time is no time. In nanoseconds it is still an int64_t. */
static const uint64_t SECONDS_MAX = UINT64_C(9000000000);

enum { DEPTH_MAX = 16 };

/* What is left of the text. */
struct text {
    const char *at;
    const char *end;
};

/* ---- JSON ---- */

static void skip_blanks(struct text *text)
{
    while (text->at < text->end &&
           (*text->at == ' ' || *text->at == '\t' || *text->at == '\n' || *text->at == '\r'))
        text->at++;
}

/* Takes this byte, and blanks before it, if it is next. */
static inline bool take_byte(struct text *text, char byte)
{
    if (text->at == text->end || *text->at != byte)
        skip_blanks(text); /* there mostly are none */
    if (text->at == text->end || *text->at != byte)
        return false;
    text->at++;
    return true;
}

static bool is_digit_next(const struct text *text)
{
    return text->at < text->end && *text->at >= '0' && *text->at <= '9';
}

/* Whether a number has ended here, and does not go on as another kind. */
static bool is_number_over(const struct text *text)
{
    if (text->at == text->end)
        return true;
    switch (*text->at) {
    case '0' ... '9':
    case '.':
    case 'e':
    case 'E':
    case '+':
    case '-':
        return false;
    default:
        return true;
    }
}

/* Of INT64_MAX; so many never overflow 64 bits without a sign. */
enum { DIGITS_MAX = 19 };

/* Decimal digits without a leading zero, up to max, which is at most INT64_MAX. */
static bool take_digits(struct text *text, uint64_t max, uint64_t *number)
{
    const char *first;
    uint64_t value = 0;

    skip_blanks(text);
    first = text->at;
    while (is_digit_next(text) && text->at - first < DIGITS_MAX)
        value = value * 10 + (uint64_t)(*text->at++ - '0');
    *number = value;
    if (value > max || is_digit_next(text))
        return false;
    return text->at > first && (*first != '0' || text->at - first == 1);
}

/* Microseconds of a fraction of seconds; digits behind the sixth are dropped. */
static bool take_fraction(struct text *text, uint64_t *microseconds)
{
    uint64_t unit = 100000;

    uint64_t value = 0;

    if (!is_digit_next(text))
        return false;
    for (; is_digit_next(text); text->at++, unit /= 10)
        value += unit * (uint64_t)(*text->at - '0');
    *microseconds = value;
    return true;
}

static bool skip_string(struct text *text)
{
    if (!take_byte(text, '"'))
        return false;
    while (text->at < text->end && *text->at != '"')
        text->at += *text->at == '\\' && text->end - text->at > 1 ? 2 : 1;
    return take_byte(text, '"');
}

/* A string without escapes, as the names that we know are. */
static bool take_name(struct text *text, struct iovec *name)
{
    struct text before = *text;

    if (!skip_string(text))
        return false;
    (void)take_byte(&before, '"');
    *name = (struct iovec){(char *)before.at, (size_t)(text->at - 1 - before.at)};
    return true;
}

/* A number or a word; which, and whether it is one, does not matter here. */
static bool skip_scalar(struct text *text)
{
    const char *first = text->at;

    while (text->at < text->end && strchr(",:{}[]\"", *text->at) == NULL)
        text->at++;
    return text->at > first;
}

/* A value of any kind; of its inside only strings and brackets are looked at. */
static bool skip_value(struct text *text)
{
    int depth = 0;

    do {
        skip_blanks(text);
        if (text->at == text->end || depth > DEPTH_MAX)
            return false;
        if (*text->at == '"') {
            if (!skip_string(text))
                return false;
        } else if (strchr("{}[]", *text->at) != NULL) {
            depth += *text->at == '{' || *text->at == '[' ? 1 : -1;
            text->at++;
        } else if (depth == 0) {
            return skip_scalar(text);
        } else {
            text->at++;
        }
    } while (depth > 0);
    return depth == 0;
}

/* ---- fields ---- */

struct field {
    const char *name;
    size_t length; /* of the name */
    bool (*take)(struct text *text, struct meter *meter, size_t offset);
    size_t offset; /* of its number in struct meter, where it is one */
};

static int bad_field(struct error *error, const char *name)
{
    return error_set(error, ERROR_INPUT, "meter record: \"%s\" is missing or not what it should be",
                     name);
}

/* For the table: a name with its length. */
#define NAMED(name) (name), sizeof(name) - 1

static const struct field *find_field(const struct field *fields, struct iovec name)
{
    for (; fields->name != NULL; fields++)
        if (fields->length == name.iov_len &&
            memcmp(fields->name, name.iov_base, name.iov_len) == 0)
            return fields;
    return NULL;
}

static bool take_count(struct text *text, struct meter *meter, size_t offset)
{
    uint64_t number;

    if (!take_digits(text, INT64_MAX, &number) || !is_number_over(text))
        return false;
    /* The numbers of a meter are of 64 bits, with and without a sign. */
    memcpy((char *)meter + offset, &number, sizeof number);
    return true;
}

/* Takes `"name":` if it stands there just so, as it does where the writer has the table's order. */
static bool take_expected(struct text *text, const struct field *field)
{
    size_t left = (size_t)(text->end - text->at);

    if (field->name == NULL || left < field->length + 3 || text->at[0] != '"' ||
        memcmp(text->at + 1, field->name, field->length) != 0 ||
        memcmp(text->at + 1 + field->length, "\":", 2) != 0)
        return false;
    text->at += field->length + 3;
    return true;
}

/* A member's name; *field is NULL for one that is not known. */
static bool take_member(struct text *text, const struct field *fields, const struct field *expected,
                        const struct field **field)
{
    struct iovec name;

    *field = expected;
    if (take_expected(text, expected))
        return true;
    if (!take_name(text, &name) || !take_byte(text, ':'))
        return false;
    *field = find_field(fields, name);
    return true;
}

/* The members of an object. *seen has bit i for fields[i]. */
static int take_members(struct text *text, struct meter *meter, const struct field *fields,
                        unsigned *seen, struct error *error)
{
    const struct field *expected = fields;

    *seen = 0;
    if (take_byte(text, '}'))
        return 0;
    do {
        const struct field *field;
        unsigned bit;

        if (!take_member(text, fields, expected, &field))
            return error_set(error, ERROR_INPUT, "meter record: not JSON");
        if (field == NULL) {
            if (!skip_value(text))
                return error_set(error, ERROR_INPUT, "meter record: not JSON");
            continue;
        }
        bit = 1U << (field - fields);
        if ((*seen & bit) != 0 || !field->take(text, meter, field->offset))
            return bad_field(error, field->name);
        *seen |= bit;
        expected = field + 1;
    } while (take_byte(text, ','));
    return take_byte(text, '}') ? 0 : error_set(error, ERROR_INPUT, "meter record: not JSON");
}

/* 0 when those from `first` up to before `end` were seen. */
static int require(const struct field *fields, int first, int end, unsigned seen,
                   struct error *error)
{
    for (int i = first; i < end; i++)
        if ((seen & 1U << i) == 0)
            return bad_field(error, fields[i].name);
    return 0;
}

/* ---- stamps ---- */

static bool take_seconds(struct text *text, struct stamp *stamp)
{
    uint64_t seconds, fraction = 0;

    if (!take_digits(text, SECONDS_MAX, &seconds))
        return false;
    if (text->at < text->end && *text->at == '.') {
        text->at++;
        if (!take_fraction(text, &fraction))
            return false;
    }
    stamp->real = (int64_t)(seconds * 1000000 + fraction);
    return is_number_over(text);
}

static bool take_nanoseconds(struct text *text, struct stamp *stamp)
{
    uint64_t number;

    if (!take_digits(text, INT64_MAX, &number))
        return false;
    stamp->mono = (int64_t)number;
    return is_number_over(text);
}

/* Of a list whose bracket was taken; 0 too when it has no end. */
static size_t count_elements(struct text *text)
{
    const char *end = memchr(text->at, ']', (size_t)(text->end - text->at));
    const char *at = text->at;
    size_t count = 1;

    skip_blanks(text);
    if (end == NULL || end == text->at)
        return 0;
    while ((at = memchr(at, ',', (size_t)(end - at))) != NULL) {
        at++;
        count++;
    }
    return count;
}

/* The two lists are of one length; the first that comes says which. */
static bool reserve_stamps(struct meter *meter, size_t count)
{
    if (meter->stamps == NULL) {
        meter->stamp_count = count;
        meter->stamps = calloc(count + 1, sizeof *meter->stamps);
    }
    return meter->stamps != NULL && meter->stamp_count == count;
}

static bool take_list(struct text *text, struct meter *meter,
                      bool (*take)(struct text *text, struct stamp *stamp))
{
    size_t count;

    if (!take_byte(text, '['))
        return false;
    count = count_elements(text);
    if (!reserve_stamps(meter, count))
        return false;
    for (size_t i = 0; i < count; i++)
        if ((i > 0 && !take_byte(text, ',')) || !take(text, &meter->stamps[i]))
            return false;
    return take_byte(text, ']');
}

static bool take_timestamps(struct text *text, struct meter *meter, size_t offset)
{
    (void)offset;
    return take_list(text, meter, take_seconds);
}

static bool take_monotimes(struct text *text, struct meter *meter, size_t offset)
{
    (void)offset;
    return take_list(text, meter, take_nanoseconds);
}

/* ---- the record ---- */

static bool take_cpu(struct text *text, struct meter *meter, size_t offset)
{
    static const struct field fields[] = {
        {NAMED("user"), take_count, offsetof(struct meter, cpu.user)},
        {NAMED("sys"), take_count, offsetof(struct meter, cpu.system)},
        {NAMED("nvcsw"), take_count, offsetof(struct meter, cpu.waits)},
        {NAMED("nivcsw"), take_count, offsetof(struct meter, cpu.preempt)},
        {NAMED("majflt"), take_count, offsetof(struct meter, cpu.faults)},
        {0},
    };
    struct error error;
    unsigned seen;

    (void)offset;
    meter->cpu_known = true;
    return take_byte(text, '{') && take_members(text, meter, fields, &seen, &error) == 0 &&
           require(fields, 0, 5, seen, &error) == 0;
}

/* Places in record_fields. */
enum { REQUIRED_END = 4, COUNTED = 5, COUNTED_END = 8 };

static const struct field record_fields[] = {
    {NAMED("currentHeapCount"), take_count, offsetof(struct meter, heap_count)},
    {NAMED("compute"), take_count, offsetof(struct meter, compute)},
    {NAMED("allocate"), take_count, offsetof(struct meter, allocate)},
    {NAMED("timestamps"), take_timestamps, 0},
    {NAMED("monotimes"), take_monotimes, 0},
    {NAMED("instructions"), take_count, offsetof(struct meter, instructions)},
    {NAMED("bytesRead"), take_count, offsetof(struct meter, bytes_read)},
    {NAMED("bytesWritten"), take_count, offsetof(struct meter, bytes_written)},
    {NAMED("cpu"), take_cpu, 0},
    {0},
};

static int take_record(struct text *text, struct meter *meter, struct error *error)
{
    unsigned seen;

    if (!take_byte(text, '{'))
        return error_set(error, ERROR_INPUT, "meter record: not a JSON object");
    if (take_members(text, meter, record_fields, &seen, error) != 0 ||
        require(record_fields, 0, REQUIRED_END, seen, error) != 0)
        return -1;
    skip_blanks(text);
    if (text->at < text->end)
        return error_set(error, ERROR_INPUT, "meter record: not JSON");
    meter->counted = (seen & 1U << COUNTED) != 0;
    if (!meter->counted)
        return 0;
    return require(record_fields, COUNTED, COUNTED_END, seen, error);
}

int meter_decode(struct meter *meter, const char *json, size_t length, struct error *error)
{
    struct text text = {.at = json, .end = json + length};

    *meter = (struct meter){0};
    if (take_record(&text, meter, error) == 0)
        return 0;
    if (meter->stamps == NULL && meter->stamp_count > 0)
        error_memory(error, "timestamps");
    meter_free(meter);
    return -1;
}

int meter_split(struct iovec frame, struct meter *meter, struct iovec *result, struct error *error)
{
    const char *bytes = frame.iov_base;
    const char *end = memchr(bytes, COMMAND_METER_END, frame.iov_len);

    if (end == NULL)
        return error_set(error, ERROR_INPUT, "a result has no meter record");
    *result = (struct iovec){
        .iov_base = (char *)end + 1,
        .iov_len = frame.iov_len - (size_t)(end + 1 - bytes),
    };
    return meter_decode(meter, bytes, (size_t)(end - bytes), error);
}

int meter_copy(struct meter *copy, const struct meter *meter)
{
    *copy = *meter;
    copy->stamps = malloc((meter->stamp_count + 1) * sizeof *copy->stamps);
    if (copy->stamps == NULL)
        return -1;
    if (meter->stamp_count > 0)
        memcpy(copy->stamps, meter->stamps, meter->stamp_count * sizeof *copy->stamps);
    return 0;
}

void meter_free(struct meter *meter)
{
    free(meter->stamps);
    *meter = (struct meter){0};
}
