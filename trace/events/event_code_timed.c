/* SPDX-License-Identifier: Apache-2.0 */
/* The code of events in traces of versions 1 and 2: each has its time, and no number where the
 * function that is left is the one entered last. */
#include "base/array.h"
#include "trace/events/event_code.h"
#include "trace/memory.h"

/* The lowest two bits of an event's first number; above them the time passed, in zigzag. */
enum { ENTERED, LEFT_LAST, LEFT, CONTROL };

enum { DEPTH = 1024 };

/* Which function was entered last, and when, within a block. */
struct timed_code {
    uint32_t functions[DEPTH];
    size_t depth; /* may be larger than the array: what is above is not kept */
    uint64_t time;
};

static void timed_code_enter(struct timed_code *code, uint32_t function)
{
    if (code->depth < DEPTH)
        code->functions[code->depth] = function;
    code->depth++;
}

static void timed_code_leave(struct timed_code *code)
{
    code->depth -= code->depth > 0;
}

static uint64_t timed_code_unzigzag(uint64_t number)
{
    return number >> 1 ^ (0 - (number & 1));
}

static bool read_one(const uint8_t **at, const uint8_t *end, struct timed_code *code,
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
        if (code->depth == 0 || code->depth > DEPTH)
            return false;
        function = code->functions[code->depth - 1];
    } else if (!event_code_take(at, end, &function) || function >= TRACE_CONTROL) {
        return false;
    }
    code->time = (code->time + timed_code_unzigzag(first >> 2)) & TRACE_TIME_MASK;
    *event = code->time << TRACE_TIME_SHIFT | function << 1 | left;
    if (left)
        timed_code_leave(code);
    else
        timed_code_enter(code, (uint32_t)function);
    return true;
}

int event_code_read_timed(const uint8_t *at, const uint8_t *end, uint64_t **events, size_t *count)
{
    struct timed_code code = {.depth = 0};
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
