/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/outcome.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/json/decimal.h"
#include "slog/model/digest.h"

enum { SECONDS_TO_MICROSECONDS = 6 };

static int stamps_grow(struct stamps *stamps, struct error *error)
{
    int64_t *at = array_reserve(stamps->at, &stamps->capacity, stamps->count + 1, sizeof *at);

    if (at == NULL)
        return error_memory(error, "timestamps");
    stamps->at = at;
    return 0;
}

static inline int stamps_add(struct stamps *stamps, int64_t stamp, struct error *error)
{
    if (stamps->count == stamps->capacity && stamps_grow(stamps, error) != 0)
        return -1;
    stamps->at[stamps->count++] = stamp;
    return 0;
}

/* A number of an array as it mostly comes: no blank around it, no exponent. */
DECIMAL_INLINE bool next_plain(struct scan_cursor *cursor, int scale, int64_t *number)
{
    const char *after;

    if (*cursor->at != '[' && *cursor->at != ',')
        return false;
    after = decimal_read(cursor->at + 1, cursor->end, scale, number);
    if (after == NULL || after == cursor->end || (*after != ',' && *after != ']'))
        return false;
    cursor->at = after;
    return true;
}

DECIMAL_INLINE enum scan_step next_number(struct scan_cursor *cursor, int scale, int64_t *number)
{
    struct scan_span element;
    enum scan_step step;

    if (next_plain(cursor, scale, number))
        return SCAN_FOUND;
    step = scan_element(cursor, &element);
    return step == SCAN_FOUND && !scan_decimal(element, scale, number) ? SCAN_BAD : step;
}

/*
 * Numbers of an array times 10^scale times unit. One that is no moment empties the list.
 * In place, so that scale and unit are constants where each stamp is read.
 */
DECIMAL_INLINE int read_stamps(struct scan_span array, int scale, int64_t unit,
                               struct stamps *stamps, struct error *error)
{
    struct scan_cursor cursor;
    enum scan_step step;
    int64_t number = 0;

    if (!scan_open(array, '[', &cursor))
        return 0;
    while ((step = next_number(&cursor, scale, &number)) != SCAN_END) {
        if (step == SCAN_BAD || number < 0 || number > INT64_MAX / unit / 2) {
            stamps->count = 0;
            return 0;
        }
        if (stamps_add(stamps, number * unit, error) != 0)
            return -1;
    }
    return 0;
}

static void read_double(struct scan_span value, double *number)
{
    if (value.at != NULL && !scan_double(value, number))
        *number = NAN;
}

static void read_cpu(struct scan_span cpu, struct outcome *outcome)
{
    read_double(scan_get(cpu, "user"), &outcome->cpu_user);
    read_double(scan_get(cpu, "sys"), &outcome->cpu_sys);
    read_double(scan_get(cpu, "nivcsw"), &outcome->switched_out);
}

static void read_sizes(struct scan_span key, struct scan_span value, struct outcome *outcome)
{
    if (scan_is(key, "currentHeapCount"))
        read_double(value, &outcome->heap_slots);
    else if (scan_is(key, "allocate"))
        read_double(value, &outcome->allocated);
    else if (scan_is(key, "bytesRead"))
        read_double(value, &outcome->bytes_read);
    else if (scan_is(key, "bytesWritten"))
        read_double(value, &outcome->bytes_written);
}

static int read_meter(struct scan_span meter, struct outcome *outcome, struct error *error)
{
    struct scan_span key, value;
    struct scan_cursor cursor;

    if (!scan_open(meter, '{', &cursor))
        return 0;
    outcome->metered = true;
    while (scan_member(&cursor, &key, &value) == SCAN_FOUND) {
        int result = 0;

        if (scan_is(key, "timestamps"))
            result = read_stamps(value, SECONDS_TO_MICROSECONDS, 1000, &outcome->timestamps, error);
        else if (scan_is(key, "monotimes"))
            result = read_stamps(value, 0, 1, &outcome->monotimes, error);
        else if (scan_is(key, "clientTimestamps"))
            result = read_stamps(value, SECONDS_TO_MICROSECONDS, 1000, &outcome->client_timestamps,
                                 error);
        else if (scan_is(key, "clientMonotimes"))
            result = read_stamps(value, 0, 1, &outcome->client_monotimes, error);
        else if (scan_is(key, "compute"))
            read_double(value, &outcome->compute);
        else if (scan_is(key, "instructions"))
            read_double(value, &outcome->instructions);
        else if (scan_is(key, "blockCost"))
            read_double(value, &outcome->block_cost);
        else if (scan_is(key, "gasBurnt"))
            read_double(value, &outcome->gas_burnt);
        else if (scan_is(key, "cpu"))
            read_cpu(value, outcome);
        else
            read_sizes(key, value, outcome);
        if (result != 0)
            return -1;
    }
    return 0;
}

static struct stamps emptied(struct stamps stamps)
{
    stamps.count = 0;
    return stamps;
}

static void reset(struct outcome *outcome)
{
    *outcome = (struct outcome){.compute = NAN,
                                .instructions = NAN,
                                .block_cost = NAN,
                                .gas_burnt = NAN,
                                .bytes_read = NAN,
                                .bytes_written = NAN,
                                .heap_slots = NAN,
                                .allocated = NAN,
                                .cpu_user = NAN,
                                .cpu_sys = NAN,
                                .switched_out = NAN,
                                .timestamps = emptied(outcome->timestamps),
                                .monotimes = emptied(outcome->monotimes),
                                .client_timestamps = emptied(outcome->client_timestamps),
                                .client_monotimes = emptied(outcome->client_monotimes)};
}

int outcome_read(struct scan_span dr, struct outcome *outcome, struct error *error)
{
    struct scan_span status, result, meter;
    struct scan_cursor cursor;

    reset(outcome);
    if (!scan_open(dr, '[', &cursor) || scan_element(&cursor, &status) != SCAN_FOUND)
        return 0;
    outcome->ok = scan_is(scan_string(status), "ok");
    outcome->result_digest = digest_add(DIGEST_START, status.at, status.length);
    if (scan_element(&cursor, &result) != SCAN_FOUND)
        return 0;
    outcome->result_digest = digest_add(outcome->result_digest, result.at, result.length);
    if (!outcome->ok)
        outcome->problem = scan_string(result);
    if (scan_element(&cursor, &meter) != SCAN_FOUND)
        return 0;
    return read_meter(meter, outcome, error);
}

void outcome_free(struct outcome *outcome)
{
    free(outcome->timestamps.at);
    free(outcome->monotimes.at);
    free(outcome->client_timestamps.at);
    free(outcome->client_monotimes.at);
    *outcome = (struct outcome){0};
}
