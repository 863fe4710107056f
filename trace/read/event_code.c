/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/event_code.h"

#include <stdlib.h>

#include "base/array.h"
#include "trace/memory.h"

/* The lowest two bits of an event's first number; above them the time passed, in zigzag. */
enum { ENTERED, LEFT_LAST, LEFT, CONTROL };

enum { DEPTH_MAX = 1024 };

/* Both sides follow, within a block, which function was entered last. */
struct open_calls {
    uint32_t functions[DEPTH_MAX];
    size_t depth; /* may be larger than the array: what is above is not kept */
    uint64_t time;
};

static void event_code_enter(struct open_calls *calls, uint32_t function)
{
    if (calls->depth < DEPTH_MAX)
        calls->functions[calls->depth] = function;
    calls->depth++;
}

static bool is_last(const struct open_calls *calls, uint32_t function)
{
    return calls->depth > 0 && calls->depth <= DEPTH_MAX &&
           calls->functions[calls->depth - 1] == function;
}

static void event_code_leave(struct open_calls *calls)
{
    calls->depth -= calls->depth > 0;
}

void event_code_put(struct buf *out, uint64_t number)
{
    char bytes[10];
    size_t length = 0;

    for (; number >= 0x80; number >>= 7)
        bytes[length++] = (char)(0x80 | (number & 0x7f));
    bytes[length++] = (char)number;
    buf_append(out, bytes, length);
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

static void write_call(struct buf *out, struct open_calls *calls, uint64_t event, uint32_t function)
{
    const uint64_t time = event >> TRACE_TIME_SHIFT;
    const uint64_t passed = zigzag((time - calls->time) & TRACE_TIME_MASK) << 2;

    calls->time = time;
    if ((event & 1) == 0) {
        event_code_put(out, passed | ENTERED);
        event_code_put(out, function);
        event_code_enter(calls, function);
    } else if (is_last(calls, function)) {
        event_code_put(out, passed | LEFT_LAST);
        event_code_leave(calls);
    } else {
        event_code_put(out, passed | LEFT);
        event_code_put(out, function);
        event_code_leave(calls);
    }
}

void event_code_write(struct buf *out, const uint64_t *events, size_t count)
{
    struct open_calls calls = {.depth = 0};

    for (size_t i = 0; i < count; i++) {
        const uint32_t function = events[i] >> 1 & 0x7fff;

        if (function < TRACE_CONTROL) {
            write_call(out, &calls, events[i], function);
            continue;
        }
        event_code_put(out, (uint64_t)(function - TRACE_CONTROL) << 2 | CONTROL);
        event_code_put(out, events[i] >> TRACE_TIME_SHIFT);
    }
}

static bool read_one(const uint8_t **at, const uint8_t *end, struct open_calls *calls,
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
        if (calls->depth == 0 || calls->depth > DEPTH_MAX)
            return false;
        function = calls->functions[calls->depth - 1];
    } else if (!event_code_take(at, end, &function) || function >= TRACE_CONTROL) {
        return false;
    }
    calls->time = (calls->time + unzigzag(first >> 2)) & TRACE_TIME_MASK;
    *event = calls->time << TRACE_TIME_SHIFT | function << 1 | left;
    if (left)
        event_code_leave(calls);
    else
        event_code_enter(calls, (uint32_t)function);
    return true;
}

int event_code_read(const uint8_t *at, const uint8_t *end, uint64_t **events, size_t *count)
{
    struct open_calls calls = {.depth = 0};
    size_t capacity = *count;

    while (at < end) {
        uint64_t *const more = array_reserve(*events, &capacity, *count + 1, sizeof *more);

        if (more == NULL)
            return -2;
        *events = more;
        if (!read_one(&at, end, &calls, &more[*count]))
            return -1;
        (*count)++;
    }
    return 0;
}
