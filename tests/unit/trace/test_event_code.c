/* SPDX-License-Identifier: Apache-2.0 */
/* Events survive being written in few bytes, and nonsense is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/memory.h"
#include "trace/read/event_code.h"

enum { EVENTS = 20000 };

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *state >> 16;
}

/* All kinds: entries, exits of the last and of others, steps back of the clock, control. */
static void make_events(uint64_t events[EVENTS])
{
    uint64_t state = 1, time = TRACE_TIME_MASK - 100000;

    for (size_t i = 0; i < EVENTS; i++) {
        const uint64_t kind = next(&state) % 16;
        const uint64_t number =
            kind == 15 ? TRACE_CONTROL + next(&state) % 7 : 1 + next(&state) % 20;

        time = (time + next(&state) % 1000 - 3) & TRACE_TIME_MASK;
        events[i] = (kind == 15 ? next(&state) % 100000 : time) << TRACE_TIME_SHIFT | number << 1 |
                    (kind < 7);
    }
}

static void test_round_trip(void **state)
{
    static uint64_t events[EVENTS];
    struct buf code = {0};
    uint64_t *read = NULL;
    size_t count = 0;

    (void)state;
    make_events(events);
    event_code_write(&(struct event_code){.depth = 0}, &code, events, EVENTS);
    assert_false(buf_failed(&code));
    assert_int_equal(event_code_read((const uint8_t *)code.data,
                                     (const uint8_t *)code.data + code.length, &read, &count),
                     0);
    assert_int_equal(count, EVENTS);
    assert_memory_equal(read, events, sizeof events);
    free(read);
    buf_free(&code);
}

static void test_pairs_are_short(void **state)
{
    uint64_t events[2000];
    struct buf code = {0};

    (void)state;
    for (size_t i = 0; i < 2000; i++)
        events[i] = i * 50 << TRACE_TIME_SHIFT | 77 << 1 | (i & 1);
    event_code_write(&(struct event_code){.depth = 0}, &code, events, 2000);
    assert_true(code.length <= 2000 * 5 / 2);
    buf_free(&code);
}

static void test_every_cut_is_refused_or_shorter(void **state)
{
    static uint64_t events[EVENTS];
    struct buf code = {0};

    (void)state;
    make_events(events);
    event_code_write(&(struct event_code){.depth = 0}, &code, events, 200);
    for (size_t length = 0; length < code.length; length++) {
        uint64_t *read = NULL;
        size_t count = 0;
        const int result = event_code_read((const uint8_t *)code.data,
                                           (const uint8_t *)code.data + length, &read, &count);

        assert_true(result == 0 || result == -1);
        assert_true(count < 200);
        free(read);
    }
    buf_free(&code);
}

static void test_nonsense_is_refused(void **state)
{
    static const uint8_t leaves_nothing[] = {1}, no_such_function[] = {0, 0xff, 0xff, 3},
                         endless[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                      0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
    uint64_t *read = NULL;
    size_t count = 0;

    (void)state;
    assert_int_equal(event_code_read(leaves_nothing, leaves_nothing + 1, &read, &count), -1);
    assert_int_equal(event_code_read(no_such_function, no_such_function + 4, &read, &count), -1);
    assert_int_equal(event_code_read(endless, endless + sizeof endless, &read, &count), -1);
    free(read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_pairs_are_short),
        cmocka_unit_test(test_every_cut_is_refused_or_shorter),
        cmocka_unit_test(test_nonsense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
