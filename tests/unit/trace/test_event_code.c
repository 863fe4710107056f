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
#include "trace/read/trace_file.h"

enum { EVENTS = 20000 };

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *state >> 16;
}

/* All kinds: entries and exits, steps back of the clock, control. */
static void make_events(uint64_t events[EVENTS])
{
    uint64_t state = 1, time = TRACE_TIME_MASK - 100000;

    for (size_t i = 0; i < EVENTS; i++) {
        const uint64_t kind = next(&state) % 16;
        const uint64_t number =
            kind == 15 ? TRACE_CONTROL + next(&state) % 7 : 1 + next(&state) % 20;
        uint64_t high;

        time = (time + next(&state) % 1000 - 3) & TRACE_TIME_MASK;
        high = kind == 15 ? next(&state) % 100000 : time;
        events[i] = high << TRACE_TIME_SHIFT | number << 1 | (kind < 7);
    }
}

/* As sorting does: rounds of calls, one of some kinds, 50 ticks from one event to the next. */
static void make_rounds(uint64_t events[EVENTS])
{
    uint64_t state = 7, kind = 0;

    for (size_t i = 0; i < EVENTS; i++) {
        const uint64_t call = i % 8;

        if (call == 0)
            kind = next(&state) % 32 == 0;
        events[i] =
            (1000 + i * 50) << TRACE_TIME_SHIFT | (1 + kind * 4 + call / 2) << 1 | (call & 1);
    }
}

static struct event_code code_of_block;

static void write_events(struct buf *out, const uint64_t *events, size_t count)
{
    memset(&code_of_block, 0, sizeof code_of_block);
    event_code_write(&code_of_block, out, events, count);
    assert_false(buf_failed(out));
}

static void assert_read(const struct buf *code, const uint64_t *events, size_t count)
{
    uint64_t *read = NULL;
    size_t read_count = 0;

    assert_int_equal(event_code_read((const uint8_t *)code->data,
                                     (const uint8_t *)code->data + code->length, &read,
                                     &read_count),
                     0);
    assert_int_equal(read_count, count);
    assert_memory_equal(read, events, count * sizeof *events);
    free(read);
}

static void test_round_trip(void **state)
{
    static uint64_t events[EVENTS];
    struct buf code = {0};

    (void)state;
    make_events(events);
    write_events(&code, events, EVENTS);
    assert_read(&code, events, EVENTS);
    buf_free(&code);
}

/* As they come, chunk by chunk. */
static void test_a_block_is_written_in_parts(void **state)
{
    static uint64_t events[EVENTS];
    struct buf code = {0};

    (void)state;
    make_rounds(events);
    memset(&code_of_block, 0, sizeof code_of_block);
    for (size_t i = 0; i < EVENTS; i += 100)
        event_code_write(&code_of_block, &code, events + i, 100);
    assert_read(&code, events, EVENTS);
    buf_free(&code);
}

static void test_pairs_are_short(void **state)
{
    uint64_t events[2000];
    struct buf code = {0};

    (void)state;
    for (size_t i = 0; i < 2000; i++)
        events[i] = (i + 1) * 50 << TRACE_TIME_SHIFT | 77 << 1 | (i & 1);
    write_events(&code, events, 2000);
    assert_read(&code, events, 2000);
    /* Two bytes of time each, as each is what is expected. */
    assert_true(code.length <= 2000 * 2 + 100);
    buf_free(&code);
}

static void expected_calls_take_their_time_only(void **state)
{
    static uint64_t events[EVENTS];
    struct buf code = {0};

    (void)state;
    make_rounds(events);
    write_events(&code, events, EVENTS);
    assert_read(&code, events, EVENTS);
    assert_true(code.length <= EVENTS * 2 + EVENTS / 20);
    buf_free(&code);
}

static void test_every_cut_is_refused_or_shorter(void **state)
{
    static uint64_t events[EVENTS];
    struct buf code = {0};

    (void)state;
    make_events(events);
    write_events(&code, events, 200);
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

static void assert_refused(const uint8_t *code, size_t length)
{
    uint64_t *events = NULL;
    size_t count = 0;

    assert_int_equal(event_code_read(code, code + length, &events, &count), -1);
    free(events);
}

static void test_nonsense_is_refused(void **state)
{
    static const uint8_t no_such_function[] = {0, 0xff, 0xff, 3},
                         no_such_code[] = {0x80 | 16 << 2 | 3, 1, 1}, no_argument[] = {8 << 2 | 3},
                         endless[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                      0x80, 0x80, 0x80, 0x80, 0x80, 0x80};

    (void)state;
    assert_refused(no_such_function, sizeof no_such_function);
    assert_refused(no_such_code, sizeof no_such_code);
    assert_refused(no_argument, sizeof no_argument);
    assert_refused(endless, sizeof endless);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_a_block_is_written_in_parts),
        cmocka_unit_test(test_pairs_are_short),
        cmocka_unit_test(expected_calls_take_their_time_only),
        cmocka_unit_test(test_every_cut_is_refused_or_shorter),
        cmocka_unit_test(test_nonsense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
