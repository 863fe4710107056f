/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/event_code.h"

#include <stdlib.h>

#include "base/array.h"
#include "trace/memory.h"

/* The lowest two bits of an event's first number; above them the time passed, in zigzag. */
enum { ENTERED, EXPECTED, LEFT, CONTROL };

enum {
    NUMBER_MOST = 10,             /* bytes */
    EVENT_MOST = 2 * NUMBER_MOST, /* bytes */
};

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

static void event_code_follow(struct event_code *code, uint16_t call)
{
    code->expected[code->context] = call;
    code->context = context_after(code->context, call);
}

/* ---- writing ---- */

static uint8_t *write_control(uint8_t *at, uint64_t event)
{
    const uint64_t code = (event >> 1 & 0x7fff) - TRACE_CONTROL;

    return put_number(put_number(at, code << 2 | CONTROL), event >> TRACE_TIME_SHIFT);
}

static uint8_t *write_call(uint8_t *at, struct event_code *code, uint64_t event)
{
    const uint16_t call = (uint16_t)event;
    const uint64_t time = event >> TRACE_TIME_SHIFT;
    const uint64_t passed = zigzag((time - code->time) & TRACE_TIME_MASK) << 2;
    const bool expected = code->expected[code->context] == call;

    code->time = time;
    event_code_follow(code, call);
    if (expected)
        return put_number(at, passed | EXPECTED);
    return put_number(put_number(at, passed | ((call & 1) != 0 ? LEFT : ENTERED)), call >> 1);
}

void event_code_write(struct event_code *code, struct buf *out, const uint64_t *events,
                      size_t count)
{
    uint8_t *begin, *at;

    if (count == 0 || buf_reserve(out, count * EVENT_MOST) != 0)
        return;
    begin = (uint8_t *)out->data + out->length;
    at = begin;
    for (size_t i = 0; i < count; i++)
        at = (events[i] >> 1 & 0x7fff) < TRACE_CONTROL ? write_call(at, code, events[i])
                                                       : write_control(at, events[i]);
    out->length += (size_t)(at - begin);
}

/* ---- reading ---- */

/* `first` is the event's first number. */
static bool read_control(uint64_t first, const uint8_t **at, const uint8_t *end, uint64_t *event)
{
    uint64_t argument;

    if (!event_code_take(at, end, &argument) || first >> 2 > 0x7fff - TRACE_CONTROL)
        return false;
    *event = argument << TRACE_TIME_SHIFT | (TRACE_CONTROL + (first >> 2)) << 1;
    return true;
}

static bool read_call(struct event_code *code, uint64_t first, const uint8_t **at,
                      const uint8_t *end, uint64_t *event)
{
    uint16_t call = code->expected[code->context];
    uint64_t function;

    if ((first & 3) != EXPECTED) {
        if (!event_code_take(at, end, &function) || function >= TRACE_CONTROL)
            return false;
        call = (uint16_t)(function << 1 | ((first & 3) == LEFT));
    }
    event_code_follow(code, call);
    code->time = (code->time + unzigzag(first >> 2)) & TRACE_TIME_MASK;
    *event = code->time << TRACE_TIME_SHIFT | call;
    return true;
}

static bool read_one(struct event_code *code, const uint8_t **at, const uint8_t *end,
                     uint64_t *event)
{
    uint64_t first;

    if (!event_code_take(at, end, &first))
        return false;
    return (first & 3) == CONTROL ? read_control(first, at, end, event)
                                  : read_call(code, first, at, end, event);
}

int event_code_read(const uint8_t *at, const uint8_t *end, uint64_t **events, size_t *count)
{
    struct event_code *const code = calloc(1, sizeof *code);
    size_t capacity = *count;
    int result = code != NULL ? 0 : -2;

    while (result == 0 && at < end) {
        uint64_t *const more = array_reserve(*events, &capacity, *count + 1, sizeof *more);

        if (more != NULL)
            *events = more;
        if (more == NULL)
            result = -2;
        else if (!read_one(code, &at, end, &more[*count]))
            result = -1;
        else
            (*count)++;
    }
    free(code);
    return result;
}
