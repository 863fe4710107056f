/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/events/event_code.h"

#include <stdlib.h>

#include "base/array.h"
#include "trace/memory.h"

/* The lowest two bits of an event's first number; above them the time passed, in zigzag. */
enum { ENTERED, EXPECTED, LEFT, CONTROL };

/* Codes of CONTROL behind those of trace/memory.h, whose first is 0. */
enum {
    CALL = 7,           /* an event without a time; see call_argument() */
    EXPECTED_CALLS = 8, /* so many events without times, all as expected */
};

enum {
    NUMBER_MOST = 10,             /* bytes */
    EVENT_MOST = 4 * NUMBER_MOST, /* bytes of an event, with the expected ones before it */
};

/* An event but for its time; a bit above says that it asks for none. */
#define LIGHT (UINT32_C(1) << TRACE_TIME_SHIFT)

/* ---- numbers ---- */

/* There is room for NUMBER_MOST bytes. Returns where they end. */
static inline uint8_t *put_number(uint8_t *at, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        *at++ = (uint8_t)(0x80 | (number & 0x7f));
    *at++ = (uint8_t)number;
    return at;
}

void event_code_put(struct buf *out, uint64_t number)
{
    uint8_t bytes[NUMBER_MOST];

    buf_append(out, bytes, (size_t)(put_number(bytes, number) - bytes));
}

bool event_code_take(const uint8_t **at, const uint8_t *end, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        const uint8_t byte = *(*at)++;

        *number |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return true;
    }
    return false;
}

/* The difference of 48-bit times as a small number, also where it is negative. */
static uint64_t zigzag(uint64_t difference)
{
    const int64_t signed_difference = (int64_t)(difference << TRACE_TIME_SHIFT) >> TRACE_TIME_SHIFT;
    const uint64_t doubled = (uint64_t)signed_difference << 1;

    return signed_difference < 0 ? ~doubled : doubled;
}

static uint64_t unzigzag(uint64_t number)
{
    return number >> 1 ^ (0 - (number & 1));
}

/* ---- what is expected ---- */

/* The seven events before decide. */
static uint32_t context_after(uint32_t context, uint32_t call)
{
    return (context << 2 ^ call * 0x9e3779b1U >> 18) & (EVENT_CODE_CONTEXTS - 1);
}

static void event_code_follow(struct event_code *code, uint32_t call)
{
    code->expected[code->context] = call;
    code->context = context_after(code->context, call);
}

/* ---- writing ---- */

static bool is_call(uint64_t event)
{
    return (event >> 1 & 0x7fff) < TRACE_CONTROL;
}

static bool has_time(uint64_t event)
{
    const uint64_t time = event >> TRACE_TIME_SHIFT;

    return time != 0 && time != TRACE_TIME_WHOLE;
}

static uint32_t call_of(uint64_t event)
{
    return (uint32_t)(event & 0xffff) | (event >> TRACE_TIME_SHIFT == TRACE_TIME_WHOLE ? LIGHT : 0);
}

/* As many of the events as have no times and are as expected. */
static size_t follow_expected(struct event_code *code, const uint64_t *events, size_t count)
{
    uint32_t context = code->context;
    size_t i;

    for (i = 0; i < count; i++) {
        const uint32_t call = call_of(events[i]);

        if (call != code->expected[context] || has_time(events[i]) || !is_call(events[i]))
            break;
        context = context_after(context, call);
    }
    code->context = context;
    return i;
}

static uint8_t *put_control(uint8_t *at, uint64_t number, uint64_t argument)
{
    return put_number(put_number(at, number << 2 | CONTROL), argument);
}

static uint64_t call_argument(uint32_t call)
{
    return (uint64_t)(call & 0xffff) << 1 | (call & LIGHT) / LIGHT;
}

static uint8_t *write_timed(uint8_t *at, struct event_code *code, uint64_t event, bool expected)
{
    const uint64_t time = event >> TRACE_TIME_SHIFT;
    const uint64_t passed = zigzag((time - code->time) & TRACE_TIME_MASK) << 2;

    code->time = time;
    if (expected)
        return put_number(at, passed | EXPECTED);
    return put_number(put_number(at, passed | ((event & 1) != 0 ? LEFT : ENTERED)),
                      event >> 1 & 0x7fff);
}

static uint8_t *write_one(uint8_t *at, struct event_code *code, uint64_t event)
{
    const uint32_t call = call_of(event);
    const bool expected = code->expected[code->context] == call;

    if (!is_call(event))
        return put_control(at, (call >> 1 & 0x7fff) - TRACE_CONTROL, event >> TRACE_TIME_SHIFT);
    event_code_follow(code, call);
    return has_time(event) ? write_timed(at, code, event, expected)
                           : put_control(at, CALL, call_argument(call));
}

void event_code_write(struct event_code *code, struct buf *out, const uint64_t *events,
                      size_t count)
{
    uint8_t *begin, *at;
    size_t i = 0;

    if (count == 0 || buf_reserve(out, count * EVENT_MOST) != 0)
        return;
    begin = (uint8_t *)out->data + out->length;
    at = begin;
    while (i < count) {
        const size_t expected = follow_expected(code, events + i, count - i);

        if (expected > 0)
            at = put_control(at, EXPECTED_CALLS, expected);
        i += expected;
        if (i < count)
            at = write_one(at, code, events[i++]);
    }
    out->length += (size_t)(at - begin);
}

/* ---- reading ---- */

static uint64_t event_without_time(uint32_t call)
{
    return (call & 0xffff) |
           ((call & LIGHT) != 0 ? TRACE_TIME_WHOLE << TRACE_TIME_SHIFT : UINT64_C(0));
}

/* Appends events; there is room for them. */
struct reading {
    struct event_code *code;
    uint64_t *events;
    size_t count;
};

static void append_untimed(struct reading *reading, uint32_t call)
{
    event_code_follow(reading->code, call);
    reading->events[reading->count++] = event_without_time(call);
}

static bool read_control(struct reading *reading, uint64_t number, uint64_t argument)
{
    switch (number) {
    case CALL:
        if (argument >> 2 >= TRACE_CONTROL)
            return false;
        append_untimed(reading, (uint32_t)(argument >> 1) | ((argument & 1) != 0 ? LIGHT : 0));
        return true;
    case EXPECTED_CALLS:
        for (uint64_t i = 0; i < argument; i++)
            append_untimed(reading, reading->code->expected[reading->code->context]);
        return true;
    default:
        if (number > 0x7fff - TRACE_CONTROL)
            return false;
        reading->events[reading->count++] = argument << TRACE_TIME_SHIFT | (TRACE_CONTROL + number)
                                                                               << 1;
        return true;
    }
}

/* An event with its time. `first` is its first number. */
static bool read_timed(struct reading *reading, uint64_t first, const uint8_t **at,
                       const uint8_t *end)
{
    struct event_code *const code = reading->code;
    uint32_t call = code->expected[code->context] & 0xffff;
    uint64_t function;

    if ((first & 3) != EXPECTED) {
        if (!event_code_take(at, end, &function) || function >= TRACE_CONTROL)
            return false;
        call = (uint32_t)function << 1 | ((first & 3) == LEFT);
    }
    event_code_follow(code, call);
    code->time = (code->time + unzigzag(first >> 2)) & TRACE_TIME_MASK;
    reading->events[reading->count++] = code->time << TRACE_TIME_SHIFT | call;
    return true;
}

/* How many events a number stands for; 0: for more than there may be. */
static size_t events_of(uint64_t first, uint64_t argument)
{
    if (first != (EXPECTED_CALLS << 2 | CONTROL))
        return 1;
    return argument <= EVENT_CODE_MOST ? (size_t)argument : 0;
}

static int read_all(struct event_code *code, const uint8_t *at, const uint8_t *end,
                    uint64_t **events, size_t *count)
{
    struct reading reading = {.code = code, .events = *events, .count = *count};
    size_t capacity = *count;
    int result = 0;

    while (result == 0 && at < end) {
        uint64_t first, argument = 0;
        const bool whole = event_code_take(&at, end, &first) &&
                           ((first & 3) != CONTROL || event_code_take(&at, end, &argument));
        const size_t more = whole ? events_of(first, argument) : 0;

        if (more == 0 || reading.count + more > 2 * EVENT_CODE_MOST)
            return -1;
        *events = array_reserve(reading.events, &capacity, reading.count + more, sizeof **events);
        if (*events == NULL) {
            *events = reading.events;
            return -2;
        }
        reading.events = *events;
        if (!((first & 3) == CONTROL ? read_control(&reading, first >> 2, argument)
                                     : read_timed(&reading, first, &at, end)))
            result = -1;
        *count = reading.count;
    }
    return result;
}

int event_code_read(const uint8_t *at, const uint8_t *end, uint64_t **events, size_t *count)
{
    struct event_code *const code = calloc(1, sizeof *code);
    const int result = code != NULL ? read_all(code, at, end, events, count) : -2;

    free(code);
    return result;
}
