/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a thread become a tree of calls with the right times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "trace/calls/call_tree.h"
#include "trace/memory.h"

enum { MAIN = 16, LEAF = 32000, OTHER = 3 };

static uint64_t enter(unsigned function, uint64_t time)
{
    return time << TRACE_TIME_SHIFT | function << 1;
}

static uint64_t leave(unsigned function, uint64_t time)
{
    return enter(function, time) | 1;
}

static uint64_t control(enum trace_number number, uint64_t argument)
{
    return argument << TRACE_TIME_SHIFT | (uint64_t)number << 1;
}

struct fixture {
    struct call_tree tree;
    struct thread_stack stack;
};

static void add(struct fixture *fixture, struct call_cuts *cuts, const uint64_t *events,
                size_t count)
{
    struct error error;

    if (fixture->tree.nodes == NULL)
        assert_int_equal(call_tree_open(&fixture->tree, &error), 0);
    assert_int_equal(thread_stack_add(&fixture->stack, &fixture->tree, cuts, events, count, &error),
                     0);
}

#define ADD(fixture, cuts, ...)                                                                    \
    add(fixture, cuts, (const uint64_t[]){__VA_ARGS__},                                            \
        sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Returns a function's sums below a group (0: all). */
static struct call_sum sum_of(struct fixture *fixture, uint32_t group, uint32_t function)
{
    struct call_sum *sums, found = {0};
    struct error error;
    size_t count, root = 0;

    call_tree_settle(&fixture->tree);
    for (size_t i = 0; group != 0 && i < fixture->tree.count; i++)
        if (fixture->tree.nodes[i].function == group)
            root = i;
    assert_int_equal(call_tree_sums(&fixture->tree, root, &sums, &count, &error), 0);
    for (size_t i = 0; i < count; i++)
        if (sums[i].function == function)
            found = sums[i];
    free(sums);
    return found;
}

static void assert_sum(struct fixture *fixture, uint32_t group, uint32_t function, uint64_t calls,
                       uint64_t self, uint64_t total)
{
    const struct call_sum sum = sum_of(fixture, group, function);

    assert_int_equal(sum.calls, calls);
    assert_int_equal(sum.self, self);
    assert_int_equal(sum.total, total);
}

static void finish(struct fixture *fixture)
{
    thread_stack_free(&fixture->stack);
    call_tree_close(&fixture->tree);
}

static void test_self_and_total(void **state)
{
    struct fixture fixture = {0};

    (void)state;
    ADD(&fixture, NULL, enter(MAIN, 100), enter(LEAF, 110), leave(LEAF, 115), enter(LEAF, 120),
        leave(LEAF, 150), leave(MAIN, 200));
    assert_sum(&fixture, 0, MAIN, 1, 65, 100);
    assert_sum(&fixture, 0, LEAF, 2, 35, 35);
    finish(&fixture);
}

static void test_recursion_is_in_the_total_once(void **state)
{
    struct fixture fixture = {0};

    (void)state;
    ADD(&fixture, NULL, enter(LEAF, 100), enter(LEAF, 110), leave(LEAF, 120), leave(LEAF, 130));
    assert_sum(&fixture, 0, LEAF, 2, 30, 30);
    finish(&fixture);
}

static void test_unwound_calls_end(void **state)
{
    struct fixture fixture = {0};

    (void)state;
    ADD(&fixture, NULL, enter(MAIN, 100), enter(LEAF, 110), enter(OTHER, 120),
        control(TRACE_UNWOUND, 2), enter(LEAF, 140), leave(LEAF, 145), leave(MAIN, 150));
    assert_int_equal(fixture.stack.unwound, 2);
    assert_int_equal(fixture.stack.unmatched, 0);
    assert_sum(&fixture, 0, LEAF, 2, 15, 35);
    assert_sum(&fixture, 0, OTHER, 1, 20, 20); /* up to the event that found it */
    assert_sum(&fixture, 0, MAIN, 1, 15, 50);
    finish(&fixture);
}

/* A signal's handler came between the frame of a call and the event of its entry, or between that
 * of its exit and the frame's end, and jumped out: three frames ended, and two calls. */
static void test_what_stays_is_not_unwound(void **state)
{
    struct fixture fixture = {0};

    (void)state;
    ADD(&fixture, NULL, enter(MAIN, 100), enter(LEAF, 110), enter(OTHER, 120),
        control(TRACE_UNWOUND, 3), control(TRACE_DEPTH, 1), enter(LEAF, 140), leave(LEAF, 145),
        leave(MAIN, 150));
    assert_int_equal(fixture.stack.unwound, 2);
    assert_int_equal(fixture.stack.unmatched, 0);
    assert_sum(&fixture, 0, MAIN, 1, 15, 50);
    ADD(&fixture, NULL, control(TRACE_LOST, 510), control(TRACE_DEEP, 3), control(TRACE_OPEN, MAIN),
        enter(OTHER, 200), control(TRACE_UNWOUND, 4), control(TRACE_DEPTH, 2), enter(LEAF, 210),
        leave(LEAF, 215), leave(MAIN, 220), leave(MAIN, 230));
    assert_int_equal(fixture.stack.unwound, 2 + 3);
    assert_int_equal(fixture.stack.unmatched, 0);
    finish(&fixture);
}

static void test_lost_events_restate_the_stack(void **state)
{
    struct fixture fixture = {0};

    (void)state;
    ADD(&fixture, NULL, enter(MAIN, 100), enter(OTHER, 110), control(TRACE_LOST, 510),
        control(TRACE_DEEP, 1), control(TRACE_OPEN, LEAF), leave(LEAF, 1000), leave(MAIN, 1010));
    assert_int_equal(fixture.stack.lost, 510);
    assert_int_equal(fixture.stack.unmatched, 0);
    assert_int_equal(fixture.stack.depth, 0);
    finish(&fixture);
}

static void test_an_orphan_is_passed_over(void **state)
{
    struct fixture fixture = {0};

    (void)state;
    ADD(&fixture, NULL, enter(MAIN, 100), control(TRACE_ORPHAN, 0), leave(MAIN, 110),
        leave(MAIN, 130));
    assert_int_equal(fixture.stack.unmatched, 0);
    assert_sum(&fixture, 0, MAIN, 1, 30, 30);
    finish(&fixture);
}

static void test_the_clock_wraps_and_steps_back(void **state)
{
    struct fixture fixture = {0};

    (void)state;
    ADD(&fixture, NULL, enter(MAIN, TRACE_TIME_MASK - 9), enter(LEAF, 10), leave(LEAF, 5),
        leave(MAIN, 30));
    assert_sum(&fixture, 0, MAIN, 1, 40, 40);
    assert_sum(&fixture, 0, LEAF, 1, 0, 0);
    finish(&fixture);
}

/* Deliveries cut the time of a function that runs through several of them. */
static void test_cuts(void **state)
{
    static const uint64_t ticks[] = {110, 130, 150};
    static const uint32_t groups[] = {CALL_TREE_GROUPS, 0, CALL_TREE_GROUPS + 1};
    struct call_cuts cuts = {.ticks = ticks, .groups = groups, .count = 3};
    struct fixture fixture = {0};

    (void)state;
    ADD(&fixture, &cuts, enter(MAIN, 100), enter(LEAF, 115), leave(LEAF, 120), enter(LEAF, 155),
        leave(LEAF, 156), leave(MAIN, 160));
    assert_sum(&fixture, CALL_TREE_GROUPS, MAIN, 0, 15, 20);
    assert_sum(&fixture, CALL_TREE_GROUPS, LEAF, 1, 5, 5);
    assert_sum(&fixture, CALL_TREE_GROUPS + 1, MAIN, 0, 9, 10);
    assert_sum(&fixture, CALL_TREE_GROUPS + 1, LEAF, 1, 1, 1);
    assert_sum(&fixture, 0, MAIN, 1, 54, 60);
    finish(&fixture);
}

/* Each delivery's computrons count from 0, which is 1 here, and where it begins is another clock's.
 */
static void test_stamps(void **state)
{
    const uint64_t ticks[] = {1000, 2000, 3000};
    const uint32_t groups[] = {CALL_TREE_GROUPS, 0, CALL_TREE_GROUPS + 1};
    struct call_cuts cuts = {.ticks = ticks, .groups = groups, .count = 3};
    struct fixture fixture = {0};

    (void)state;
    ADD(&fixture, &cuts, control(TRACE_STAMP, 900), enter(MAIN, 1), control(TRACE_STAMP, 1100),
        enter(LEAF, 4), leave(LEAF, 10), enter(LEAF, 2500), leave(LEAF, 2501),
        control(TRACE_STAMP, 3100), enter(LEAF, 1), leave(LEAF, 8));
    assert_sum(&fixture, CALL_TREE_GROUPS, MAIN, 0, 3 + 2490, 2500);
    assert_sum(&fixture, CALL_TREE_GROUPS, LEAF, 2, 7, 7);
    assert_sum(&fixture, CALL_TREE_GROUPS + 1, LEAF, 1, 7, 7);
    finish(&fixture);
}

static void assert_span(const struct fixture *fixture, const struct call_span *span,
                        uint32_t function, uint64_t begin, uint64_t length)
{
    assert_int_equal(fixture->tree.nodes[span->node].function, function);
    assert_int_equal(span->begin, begin);
    assert_int_equal(span->length, length);
}

/* Keeps the longest calls of each delivery; calls that span both are split. */
static void test_spans(void **state)
{
    static const uint64_t ticks[] = {110, 150, 160};
    static const uint32_t groups[] = {CALL_TREE_GROUPS, 0, CALL_TREE_GROUPS + 1};
    struct call_cuts cuts = {.ticks = ticks, .groups = groups, .count = 3};
    struct call_spans spans = {.most = 3};
    struct fixture fixture = {.stack.spans = &spans};

    (void)state;
    ADD(&fixture, &cuts, enter(MAIN, 100), enter(LEAF, 115), leave(LEAF, 120), enter(LEAF, 125),
        enter(OTHER, 125), control(TRACE_UNWOUND, 2), enter(LEAF, 135), leave(LEAF, 136),
        enter(OTHER, 141), leave(OTHER, 143), leave(MAIN, 170));
    call_spans_settle(&spans);
    assert_false(spans.failed);
    assert_int_equal(spans.list_count, 2);
    assert_int_equal(spans.lists[0].count, 3);
    assert_int_equal(spans.lists[0].left_out, 3);
    assert_span(&fixture, &spans.lists[0].spans[0], MAIN, 110, 40);
    /* The call stays with its caller, which took no longer. */
    assert_span(&fixture, &spans.lists[0].spans[1], LEAF, 125, 10);
    assert_span(&fixture, &spans.lists[0].spans[2], OTHER, 125, 10);
    assert_int_equal(spans.lists[1].count, 1);
    assert_span(&fixture, &spans.lists[1].spans[0], MAIN, 160, 10);
    call_spans_free(&spans);
    finish(&fixture);
}

/* A caller is kept if its call took as long and there is space for one. */
static void test_spans_keep_callers(void **state)
{
    static const uint64_t ticks[] = {100, 190};
    static const uint32_t groups[] = {CALL_TREE_GROUPS, 0};
    struct call_cuts cuts = {.ticks = ticks, .groups = groups, .count = 2};
    struct call_spans spans = {.most = 2};
    struct fixture fixture = {.stack.spans = &spans};

    (void)state;
    ADD(&fixture, &cuts, enter(OTHER, 100), leave(OTHER, 120), enter(MAIN, 130), enter(LEAF, 130),
        leave(LEAF, 180), leave(MAIN, 180), enter(OTHER, 185), leave(OTHER, 189), enter(MAIN, 200));
    call_spans_settle(&spans);
    assert_int_equal(spans.lists[0].left_out, 2);
    assert_span(&fixture, &spans.lists[0].spans[0], MAIN, 130, 50);
    assert_span(&fixture, &spans.lists[0].spans[1], LEAF, 130, 50);
    call_spans_free(&spans);
    finish(&fixture);
}

/* A hostile process's events read as arbitrary calls, and do no harm. */
static void test_nonsense(void **state)
{
    static const uint64_t ticks[] = {110};
    static const uint32_t groups[] = {CALL_TREE_GROUPS};
    struct call_cuts cuts = {.ticks = ticks, .groups = groups, .count = 1};
    struct call_spans spans = {.most = 10};
    struct fixture fixture = {.stack.spans = &spans};

    (void)state;
    for (uint64_t i = 0; i < 100000; i++)
        ADD(&fixture, &cuts, i * UINT64_C(0x9e3779b97f4a7c15));
    call_spans_settle(&spans);
    call_spans_free(&spans);
    finish(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_self_and_total),
        cmocka_unit_test(test_recursion_is_in_the_total_once),
        cmocka_unit_test(test_unwound_calls_end),
        cmocka_unit_test(test_what_stays_is_not_unwound),
        cmocka_unit_test(test_lost_events_restate_the_stack),
        cmocka_unit_test(test_an_orphan_is_passed_over),
        cmocka_unit_test(test_the_clock_wraps_and_steps_back),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_stamps),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_spans_keep_callers),
        cmocka_unit_test(test_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
