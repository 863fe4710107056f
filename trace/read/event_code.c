/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/event_code.h"

#include <stdlib.h>

#include "base/array.h"
#include "trace/memory.h"

/* The lowest two bits of an event's first number; above them the time passed, in zigzag. */
enum { ENTERED, LEFT_LAST, LEFT, CONTROL };

enum { NUMBER_MOST = 10 }; /* bytes */

static void event_code_enter(struct event_code *code, uint32_t function)
{
    if (code->depth < EVENT_CODE_DEPTH)
        code->functions[code->depth] = function;
    code->depth++;
}

static bool is_last(const struct event_code *code, uint32_t function)
{
    return code->depth > 0 && code->depth <= EVENT_CODE_DEPTH &&
           code->functions[code->depth - 1] == function;
}

static void event_code_leave(struct event_code *code)
{
    code->depth -= code->depth > 0;
}

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

static uint8_t *write_call(uint8_t *at, struct event_code *code, uint64_t event, uint32_t function)
{
    const uint64_t time = event >> TRACE_TIME_SHIFT;
    const uint64_t passed = zigzag((time - code->time) & TRACE_TIME_MASK) << 2;

    code->time = time;
    if ((event & 1) == 0) {
        event_code_enter(code, function);
        return put_number(put_number(at, passed | ENTERED), function);
    }
    if (is_last(code, function)) {
        event_code_leave(code);
        return put_number(at, passed | LEFT_LAST);
    }
    event_code_leave(code);
    return put_number(put_number(at, passed | LEFT), function);
}

static uint8_t *write_control(uint8_t *at, uint64_t event, uint32_t function)
{
    at = put_number(at, (uint64_t)(function - TRACE_CONTROL) << 2 | CONTROL);
    return put_number(at, event >> TRACE_TIME_SHIFT);
}

void event_code_write(struct event_code *code, struct buf *out, const uint64_t *events,
                      size_t count)
{
    uint8_t *begin, *at;

    if (count == 0 || buf_reserve(out, count * 2 * NUMBER_MOST) != 0)
        return;
    begin = (uint8_t *)out->data + out->length;
    at = begin;
    for (size_t i = 0; i < count; i++) {
        const uint32_t function = events[i] >> 1 & 0x7fff;

        at = function < TRACE_CONTROL ? write_call(at, code, events[i], function)
                                      : write_control(at, events[i], function);
    }
    out->length += (size_t)(at - begin);
}

static bool read_one(const uint8_t **at, const uint8_t *end, struct event_code *code,
                     uint64_t *event)
{
    uint64_t first, function;
    bool left;

    if (!event_code_take(at, end, &first))
        return false;
    if ((first & 3) == CONTROL) {
        if (!event_code_take(at, end, event) || first >> 2 > 0x7fff - TRACE_CONTROL)
            return false;
        *event = *event << TRACE_TIME_SHIFT | (TRACE_CONTROL + (first >> 2)) << 1;
        return true;
    }
    left = (first & 3) != ENTERED;
    if ((first & 3) == LEFT_LAST) {
        if (code->depth == 0 || code->depth > EVENT_CODE_DEPTH)
            return false;
        function = code->functions[code->depth - 1];
    } else if (!event_code_take(at, end, &function) || function >= TRACE_CONTROL) {
        return false;
    }
    code->time = (code->time + unzigzag(first >> 2)) & TRACE_TIME_MASK;
    *event = code->time << TRACE_TIME_SHIFT | function << 1 | left;
    if (left)
        event_code_leave(code);
    else
        event_code_enter(code, (uint32_t)function);
    return true;
}

int event_code_read(const uint8_t *at, const uint8_t *end, uint64_t **events, size_t *count)
{
    struct event_code code = {.depth = 0};
    size_t capacity = *count;

    while (at < end) {
        uint64_t *const more = array_reserve(*events, &capacity, *count + 1, sizeof *more);

        if (more == NULL)
            return -2;
        *events = more;
        if (!read_one(&at, end, &code, &more[*count]))
            return -1;
        (*count)++;
    }
    return 0;
}
