/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/meter.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"
#include "base/json/scan.h"
#include "proto/command.h"

/*
 * A record comes with each delivery. A tree of its JSON would take as long as the rest of the
 * delivery's way through the pipe, so it is scanned and its members are looked up in a table.
 */

/* Later times, after the year 2255, are invalid: in nanoseconds they would not fit an int64_t. */
static const uint64_t SECONDS_MAX = UINT64_C(9000000000);

/* ---- numbers ---- */

/* The digits of INT64_MAX; numbers with this many fit a uint64_t. */
enum { DIGITS_MAX = 19 };

/* Decimal digits without a leading zero, up to max, which is at most INT64_MAX. */
static bool read_digits(struct scan_span text, uint64_t max, uint64_t *number)
{
    uint64_t value = 0;

    if (text.length == 0 || text.length > DIGITS_MAX || (text.at[0] == '0' && text.length > 1))
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text.at[i] - '0');
    }
    *number = value;
    return value <= max;
}

/* Microseconds of a fraction of a second; digits after the sixth are dropped. */
static bool read_fraction(struct scan_span text, uint64_t *microseconds)
{
    uint64_t unit = 100000;

    *microseconds = 0;
    for (size_t i = 0; i < text.length; i++, unit /= 10) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        *microseconds += unit * (uint64_t)(text.at[i] - '0');
    }
    return text.length > 0;
}

static bool read_seconds(struct scan_span value, struct stamp *stamp)
{
    const char *point = memchr(value.at, '.', value.length);
    struct scan_span whole = value, fraction;
    uint64_t seconds, microseconds = 0;

    if (point != NULL) {
        whole.length = (size_t)(point - value.at);
        fraction = (struct scan_span){point + 1, value.length - whole.length - 1};
        if (!read_fraction(fraction, &microseconds))
            return false;
    }
    if (!read_digits(whole, SECONDS_MAX, &seconds))
        return false;
    stamp->real = (int64_t)(seconds * 1000000 + microseconds);
    return true;
}

static bool read_nanoseconds(struct scan_span value, struct stamp *stamp)
{
    uint64_t number;

    if (!read_digits(value, INT64_MAX, &number))
        return false;
    stamp->mono = (int64_t)number;
    return true;
}

/* ---- members ---- */

struct field {
    const char *name;
    size_t length; /* of the name */
    bool (*read)(struct scan_span value, struct meter *meter, size_t offset);
    size_t offset; /* offset of the number in struct meter */
};

/* For the table: a name with its length. */
#define NAMED(name) (name), sizeof(name) - 1

static int bad_field(struct error *error, const char *name)
{
    return error_set(error, ERROR_INPUT, "meter record: \"%s\" is missing or not what it should be",
                     name);
}

static const struct field *find_field(const struct field *fields, struct scan_span name)
{
    for (; fields->name != NULL; fields++)
        if (fields->length == name.length && memcmp(fields->name, name.at, name.length) == 0)
            return fields;
    return NULL;
}

/* True if brackets nest at most DEPTH_MAX deep, which readers of the record rely on. */
static bool is_shallow(struct scan_span value)
{
    enum { DEPTH_MAX = 16 };
    int depth = 0;

    for (size_t i = 0; i < value.length && depth <= DEPTH_MAX; i++)
        depth +=
            (value.at[i] == '[' || value.at[i] == '{') - (value.at[i] == ']' || value.at[i] == '}');
    return depth <= DEPTH_MAX;
}

/* The members of an object. *seen has bit i for fields[i]. */
static int meter_read_members(struct scan_span object, struct meter *meter,
                              const struct field *fields, unsigned *seen, struct error *error)
{
    struct scan_cursor cursor;
    struct scan_span name, value;
    enum scan_step step;

    *seen = 0;
    if (!scan_open(object, '{', &cursor))
        return error_set(error, ERROR_INPUT, "meter record: not a JSON object");
    while ((step = scan_member(&cursor, &name, &value)) == SCAN_FOUND) {
        const struct field *field = find_field(fields, name);
        unsigned bit;

        if (field == NULL && !is_shallow(value))
            return error_set(error, ERROR_INPUT, "meter record: not JSON");
        if (field == NULL) {
            meter->text = (struct iovec){0};
            continue;
        }
        bit = 1U << (field - fields);
        if ((*seen & bit) != 0 || !field->read(value, meter, field->offset))
            return bad_field(error, field->name);
        *seen |= bit;
    }
    if (step == SCAN_BAD || !scan_at_end(&cursor))
        return error_set(error, ERROR_INPUT, "meter record: not JSON");
    return 0;
}

/* 0 if the fields from `first` to before `end` were seen. */
static int meter_require(const struct field *fields, int first, int end, unsigned seen,
                         struct error *error)
{
    for (int i = first; i < end; i++)
        if ((seen & 1U << i) == 0)
            return bad_field(error, fields[i].name);
    return 0;
}

static bool read_count(struct scan_span value, struct meter *meter, size_t offset)
{
    uint64_t number;

    if (!read_digits(value, INT64_MAX, &number))
        return false;
    /* The numbers of a meter are int64_t or uint64_t. */
    memcpy((char *)meter + offset, &number, sizeof number);
    return true;
}

/* Over a century: the sum of two still fits in nanoseconds. */
static bool read_microseconds(struct scan_span value, struct meter *meter, size_t offset)
{
    uint64_t number;

    if (!read_digits(value, INT64_MAX / 2000, &number))
        return false;
    memcpy((char *)meter + offset, &number, sizeof number);
    return true;
}

/* ---- stamps ---- */

/* Reserves as many as the list's commas allow. */
static bool reserve_stamps(struct meter *meter, struct scan_span list)
{
    const char *end = list.at + list.length;

    meter->stamp_count = 1;
    for (const char *at = list.at; (at = memchr(at, ',', (size_t)(end - at))) != NULL; at++)
        meter->stamp_count++;
    meter->stamps = calloc(meter->stamp_count, sizeof *meter->stamps);
    return meter->stamps != NULL;
}

/* Both lists have the same length; the first one sets it. */
static bool read_list(struct scan_span list, struct meter *meter,
                      bool (*read)(struct scan_span value, struct stamp *stamp))
{
    bool first = meter->stamps == NULL;
    struct scan_cursor cursor;
    struct scan_span value;
    enum scan_step step;
    size_t count = 0;

    if (!scan_open(list, '[', &cursor) || (first && !reserve_stamps(meter, list)))
        return false;
    while ((step = scan_element(&cursor, &value)) == SCAN_FOUND) {
        if (count == meter->stamp_count || !read(value, &meter->stamps[count++]))
            return false;
    }
    if (first)
        meter->stamp_count = count;
    return step == SCAN_END && count == meter->stamp_count;
}

static bool read_timestamps(struct scan_span value, struct meter *meter, size_t offset)
{
    (void)offset;
    return read_list(value, meter, read_seconds);
}

static bool read_monotimes(struct scan_span value, struct meter *meter, size_t offset)
{
    (void)offset;
    return read_list(value, meter, read_nanoseconds);
}

/* ---- the record ---- */

static bool read_cpu(struct scan_span value, struct meter *meter, size_t offset)
{
    static const struct field fields[] = {
        {NAMED("user"), read_microseconds, offsetof(struct meter, cpu.user)},
        {NAMED("sys"), read_microseconds, offsetof(struct meter, cpu.system)},
        {NAMED("nvcsw"), read_count, offsetof(struct meter, cpu.waits)},
        {NAMED("nivcsw"), read_count, offsetof(struct meter, cpu.preempt)},
        {NAMED("majflt"), read_count, offsetof(struct meter, cpu.faults)},
        {0},
    };
    struct error error;
    unsigned seen;

    (void)offset;
    meter->cpu_known = true;
    return meter_read_members(value, meter, fields, &seen, &error) == 0 &&
           meter_require(fields, 0, 5, seen, &error) == 0;
}

/* Its readers check its content. */
static bool read_profile(struct scan_span value, struct meter *meter, size_t offset)
{
    (void)offset;
    meter->profile = (struct iovec){(char *)value.at, value.length};
    meter->text = (struct iovec){0};
    return true;
}

/* Plain names and numbers: it is printed as it came. */
static bool is_plain_object(struct scan_span value)
{
    for (size_t i = 0; i < value.length; i++)
        if (strchr("abcdefghijklmnopqrstuvwxyz0123456789_\":,{}", value.at[i]) == NULL ||
            value.at[i] == '\0')
            return false;
    return true;
}

/* An object of counts. */
static bool read_gas_profile(struct scan_span value, struct meter *meter, size_t offset)
{
    struct scan_cursor cursor;
    struct scan_span name, count;
    enum scan_step step;
    uint64_t number;

    (void)offset;
    if (!is_plain_object(value) || !scan_open(value, '{', &cursor))
        return false;
    while ((step = scan_member(&cursor, &name, &count)) == SCAN_FOUND)
        if (!read_digits(count, INT64_MAX, &number))
            return false;
    meter->gas_profile = (struct iovec){(char *)value.at, value.length};
    return step == SCAN_END;
}

/* Indices in record_fields. */
enum { REQUIRED_END = 4, COUNTED = 5, COUNTED_END = 8, COST = 10, GAS = 11, REFUND = 13 };

static const struct field record_fields[] = {
    {NAMED("currentHeapCount"), read_count, offsetof(struct meter, heap_count)},
    {NAMED("compute"), read_count, offsetof(struct meter, compute)},
    {NAMED("allocate"), read_count, offsetof(struct meter, allocate)},
    {NAMED("timestamps"), read_timestamps, 0},
    {NAMED("monotimes"), read_monotimes, 0},
    {NAMED("instructions"), read_count, offsetof(struct meter, instructions)},
    {NAMED("bytesRead"), read_count, offsetof(struct meter, bytes_read)},
    {NAMED("bytesWritten"), read_count, offsetof(struct meter, bytes_written)},
    {NAMED("cpu"), read_cpu, 0},
    {NAMED("profile"), read_profile, 0},
    {NAMED("blockCost"), read_count, offsetof(struct meter, block_cost)},
    {NAMED("gasBurnt"), read_count, offsetof(struct meter, gas_burnt)},
    {NAMED("gasProfile"), read_gas_profile, 0},
    {NAMED("gasRefunded"), read_count, offsetof(struct meter, gas_refunded)},
    {0},
};

static int meter_read_record(struct scan_span text, struct meter *meter, struct error *error)
{
    unsigned seen;

    if (meter_read_members(text, meter, record_fields, &seen, error) != 0 ||
        meter_require(record_fields, 0, REQUIRED_END, seen, error) != 0)
        return -1;
    meter->cost_known = (seen & 1U << COST) != 0;
    meter->gas_known = (seen & 1U << GAS) != 0;
    meter->refund_known = (seen & 1U << REFUND) != 0;
    meter->counted = (seen & 1U << COUNTED) != 0;
    if (!meter->counted)
        return 0;
    return meter_require(record_fields, COUNTED, COUNTED_END, seen, error);
}

/* Blanks are all that scanning accepts between what it checks. */
static bool has_blanks(const char *json, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)json[i] <= ' ')
            return true;
    return false;
}

/* The same place in another copy of the text. */
static void move_to(struct iovec *part, const char *from, const char *to)
{
    if (part->iov_len > 0)
        part->iov_base = (char *)to + ((char *)part->iov_base - from);
}

int meter_decode(struct meter *meter, const char *json, size_t length, struct error *error)
{
    char *padded = malloc(length + SCAN_PADDING);
    int result;

    *meter = (struct meter){0};
    if (!has_blanks(json, length))
        meter->text = (struct iovec){(char *)json, length};
    if (padded == NULL)
        return error_memory(error, "a meter record");
    memcpy(padded, json, length);
    memset(padded + length, 0, SCAN_PADDING);
    result = meter_read_record((struct scan_span){padded, length}, meter, error);
    move_to(&meter->profile, padded, json);
    move_to(&meter->gas_profile, padded, json);
    free(padded);
    if (result == 0)
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

/* The end of the copy. */
static char *copy_part(struct iovec *copy, const struct iovec *part, char *place)
{
    copy->iov_base = place;
    return part->iov_len > 0 ? mempcpy(place, part->iov_base, part->iov_len) : place;
}

bool meter_is_long(const struct meter *meter)
{
    const size_t last = meter->stamp_count - 1;

    if (meter->cpu_known)
        return (meter->cpu.user + meter->cpu.system) * 1000 >= METER_LONG_NS;
    return meter->stamp_count >= 2 &&
           (meter->stamps[last].real - meter->stamps[0].real) * 1000 >= METER_LONG_NS;
}

int meter_copy(struct meter *copy, const struct meter *meter)
{
    char *place;

    *copy = *meter;
    copy->stamps = malloc((meter->stamp_count + 1) * sizeof *copy->stamps + meter->profile.iov_len +
                          meter->gas_profile.iov_len + meter->text.iov_len);
    if (copy->stamps == NULL)
        return -1;
    /* The copy's texts follow its stamps. */
    place = (char *)(copy->stamps + meter->stamp_count + 1);
    place = copy_part(&copy->profile, &meter->profile, place);
    place = copy_part(&copy->gas_profile, &meter->gas_profile, place);
    (void)copy_part(&copy->text, &meter->text, place);
    if (meter->stamp_count > 0)
        memcpy(copy->stamps, meter->stamps, meter->stamp_count * sizeof *copy->stamps);
    return 0;
}

void meter_free(struct meter *meter)
{
    free(meter->stamps);
    *meter = (struct meter){0};
}

/*
 * A record is sent with each delivery. So space is reserved once, for the longest record, and it
 * is written without further checks.
 */
enum {
    FIXED_SIZE = 640, /* all names and numbers but those of the stamps */
    STAMP_SIZE = 2 * (JSON_TEXT_NUMBER_MAX + 1),
};

static inline char *meter_encode_put_text(char *at, const char *text)
{
    return mempcpy(at, text, strlen(text));
}

static inline char *put_field(char *at, const char *name_and_colon, uint64_t value)
{
    return json_text_put_unsigned(meter_encode_put_text(at, name_and_colon), value);
}

static char *put_stamps(char *at, const struct meter *meter)
{
    at = meter_encode_put_text(at, ",\"timestamps\":[");
    for (size_t i = 0; i < meter->stamp_count; i++) {
        if (i > 0)
            *at++ = ',';
        at = json_text_put_seconds(at, meter->stamps[i].real);
    }
    *at++ = ']';
    /* xsnap-worker's records, which go into slogfiles, have none. */
    if (meter->stamp_count > 0 && meter->stamps[meter->stamp_count - 1].mono == 0)
        return at;
    at = meter_encode_put_text(at, ",\"monotimes\":[");
    for (size_t i = 0; i < meter->stamp_count; i++) {
        if (i > 0)
            *at++ = ',';
        at = json_text_put_integer(at, meter->stamps[i].mono);
    }
    *at++ = ']';
    return at;
}

static char *put_cpu(char *at, const struct meter_cpu *cpu)
{
    at = put_field(at, ",\"cpu\":{\"user\":", (uint64_t)cpu->user);
    at = put_field(at, ",\"sys\":", (uint64_t)cpu->system);
    at = put_field(at, ",\"nvcsw\":", (uint64_t)cpu->waits);
    at = put_field(at, ",\"nivcsw\":", (uint64_t)cpu->preempt);
    at = put_field(at, ",\"majflt\":", (uint64_t)cpu->faults);
    *at++ = '}';
    return at;
}

void meter_encode(struct buf *buf, const struct meter *meter)
{
    char *at;

    if (buf_reserve(buf, FIXED_SIZE + meter->stamp_count * STAMP_SIZE + meter->profile.iov_len +
                             meter->gas_profile.iov_len) != 0)
        return;
    at = buf->data + buf->length;
    at = put_field(at, "{\"currentHeapCount\":", meter->heap_count);
    at = put_field(at, ",\"compute\":", meter->compute);
    at = put_field(at, ",\"allocate\":", meter->allocate);
    at = put_stamps(at, meter);
    if (meter->counted) {
        at = put_field(at, ",\"instructions\":", meter->instructions);
        at = put_field(at, ",\"bytesRead\":", meter->bytes_read);
        at = put_field(at, ",\"bytesWritten\":", meter->bytes_written);
    }
    if (meter->cost_known)
        at = put_field(at, ",\"blockCost\":", meter->block_cost);
    if (meter->gas_known)
        at = put_field(at, ",\"gasBurnt\":", meter->gas_burnt);
    if (meter->refund_known)
        at = put_field(at, ",\"gasRefunded\":", meter->gas_refunded);
    if (meter->gas_profile.iov_len > 0)
        at = mempcpy(meter_encode_put_text(at, ",\"gasProfile\":"), meter->gas_profile.iov_base,
                     meter->gas_profile.iov_len);
    if (meter->cpu_known)
        at = put_cpu(at, &meter->cpu);
    if (meter->profile.iov_len > 0)
        at = mempcpy(meter_encode_put_text(at, ",\"profile\":"), meter->profile.iov_base,
                     meter->profile.iov_len);
    *at++ = '}';
    buf->length = (size_t)(at - buf->data);
}
