/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "supervisor/transcript/delivery_compare.h"

#define GET                "[\"vatstoreGet\",\"k\"]"
#define SET                "[\"vatstoreSet\",\"k\",\"v\"]"
#define SCHEMATA           "[\"vatstoreGet\",\"vc.4.|schemata\"]"
#define PAIR(made, answer) "{\"s\":" made ",\"r\":" answer "}"
#define METER                                                                                      \
    "{\"currentHeapCount\":1,\"compute\":77,\"allocate\":1,\"timestamps\":[],"                     \
    "\"instructions\":9,\"bytesRead\":0,\"bytesWritten\":0}\1"

static struct recorded_delivery recorded;
static struct delivery_compare compare;
static struct compare_rules rules;
static int reported;

static void report(void *context, const struct difference *difference)
{
    (void)context;
    assert_false(buf_failed(&difference->recorded));
    reported++;
}

static void begin(const char *syscalls, const char *result)
{
    struct error error;

    buf_clear(&recorded.text);
    assert_int_equal(
        buf_printf(&recorded.text, "{\"d\":[\"notify\"],\"sc\":[%s],\"r\":%s}", syscalls, result),
        0);
    assert_int_equal(recorded_delivery_parse(&recorded, 5, &error), 0);
    compare = (struct delivery_compare){
        .recorded = &recorded, .rules = &rules, .known = compare.known, .tolerate = report};
    reported = 0;
}

/* The worker makes this syscall. */
static enum compare_result makes(const char *syscall, struct scan_span *answer)
{
    static char message[256];

    snprintf(message, sizeof message - SCAN_PADDING, "[\"syscall\",%s]", syscall);
    return delivery_compare_syscall(&compare, (struct scan_span){message, strlen(message)}, answer);
}

/* Its delivery ends with this RESULT, 77 computrons and 9 instructions. */
static enum compare_result ends(const char *result)
{
    static char payload[512];
    struct delivery_outcome outcome = {0};
    enum compare_result compared;
    struct error error;

    snprintf(payload, sizeof payload - SCAN_PADDING, METER "%s", result);
    assert_int_equal(
        delivery_outcome_read(&outcome, (struct iovec){payload, strlen(payload)}, &error), 0);
    compared = delivery_compare_outcome(&compare, &outcome);
    delivery_outcome_free(&outcome);
    return compared;
}

static void side_is(struct buf *side, const char *text)
{
    assert_string_equal(buf_string(side), text);
}

#define OK_RESULT "{\"status\":\"ok\",\"metering\":{\"computrons\":77}}"

static void recorded_results_are_equal(void **state)
{
    struct scan_span answer;

    (void)state;
    begin(PAIR(GET, "[\"ok\",\"v\"]") "," PAIR(SET, "[\"ok\",null]"), OK_RESULT);
    assert_int_equal(makes(GET, &answer), COMPARE_SAME);
    assert_true(scan_is(answer, "[\"ok\",\"v\"]"));
    assert_int_equal(makes(SET, &answer), COMPARE_SAME);
    assert_int_equal(ends("[\"ok\",null]"), COMPARE_SAME);
}

static void differing_syscall_is_reported_with_both_sides(void **state)
{
    struct scan_span answer;

    (void)state;
    begin(PAIR(GET, "[\"ok\",\"v\"]") "," PAIR(SET, "[\"ok\",null]"), OK_RESULT);
    assert_int_equal(makes(GET, &answer), COMPARE_SAME);
    assert_int_equal(makes(GET, &answer), COMPARE_DIFFERS);
    assert_int_equal(compare.difference.aspect, COMPARE_SYSCALL);
    assert_int_equal(compare.difference.syscall_num, 1);
    assert_int_equal(compare.difference.line, 5);
    side_is(&compare.difference.recorded, SET);
    side_is(&compare.difference.replayed, GET);
    difference_free(&compare.difference);
}

static void off_by_one_counts_differ(void **state)
{
    struct scan_span answer;

    (void)state;
    begin("", OK_RESULT);
    assert_int_equal(makes(GET, &answer), COMPARE_DIFFERS);
    assert_int_equal(compare.difference.recorded.length, 0);
    difference_free(&compare.difference);
    begin(PAIR(GET, "[\"ok\",\"v\"]"), OK_RESULT);
    assert_int_equal(ends("[\"ok\",null]"), COMPARE_DIFFERS);
    assert_int_equal(compare.difference.replayed.length, 0);
    difference_free(&compare.difference);
}

/* The slogfile has the syscall at which the kernel ended the delivery. */
static void a_syscall_that_was_refused_is_the_end(void **state)
{
    struct recorded_result refused = {.status = {"error", 5}, .line = 7};
    char text[sizeof SET + SCAN_PADDING] = SET;
    struct scan_span answer;

    (void)state;
    refused.refused = (struct scan_span){text, strlen(text)};
    begin(PAIR(GET, "[\"ok\",\"v\"]"), OK_RESULT);
    assert_int_equal(recorded_delivery_add_result(&recorded, &refused), 0);
    assert_int_equal(makes(GET, &answer), COMPARE_SAME);
    assert_int_equal(makes(SET, &answer), COMPARE_REFUSED);
    assert_int_equal(makes(GET, &answer), COMPARE_DIFFERS);
    side_is(&compare.difference.recorded, SET);
    side_is(&compare.difference.replayed, GET);
    assert_int_equal(ends("[\"error\",\"no\"]"), COMPARE_DIFFERS);
    side_is(&compare.difference.recorded, SET);
    assert_int_equal(compare.difference.replayed.length, 0);
    difference_free(&compare.difference);
}

static void results_and_computrons_are_compared(void **state)
{
    (void)state;
    begin("", OK_RESULT);
    assert_int_equal(ends("[\"error\",\"no\"]"), COMPARE_DIFFERS);
    assert_int_equal(compare.difference.aspect, COMPARE_RESULT);
    side_is(&compare.difference.replayed, "[\"error\",\"no\"]");
    difference_free(&compare.difference);
    begin("", "{\"status\":\"ok\",\"metering\":{\"computrons\":78}}");
    assert_int_equal(ends("[\"ok\",null]"), COMPARE_DIFFERS);
    assert_int_equal(compare.difference.aspect, COMPARE_COMPUTRONS);
    side_is(&compare.difference.recorded, "78");
    difference_free(&compare.difference);
    begin("", "{\"status\":\"ok\"}");
    assert_int_equal(ends("[\"ok\",null]"), COMPARE_SAME);
}

static void instructions_are_compared_under_the_same_fingerprint(void **state)
{
    static const char result[] = "{\"status\":\"ok\",\"instructions\":8,\"fingerprint\":\"fe\"}";

    (void)state;
    begin("", result);
    assert_int_equal(ends("[\"ok\",null]"), COMPARE_SAME);
    rules.fingerprint = "fe";
    begin("", result);
    assert_int_equal(ends("[\"ok\",null]"), COMPARE_DIFFERS);
    assert_int_equal(compare.difference.aspect, COMPARE_INSTRUCTIONS);
    difference_free(&compare.difference);
    rules.tolerated = 1U << COMPARE_INSTRUCTIONS;
    begin("", result);
    assert_int_equal(ends("[\"ok\",null]"), COMPARE_SAME);
    assert_int_equal(reported, 1);
    difference_free(&compare.difference);
}

static void reads_of_gc_are_tolerated_when_asked_for(void **state)
{
    struct scan_span answer;

    (void)state;
    begin(PAIR(SCHEMATA, "[\"ok\",\"s\"]") "," PAIR(GET, "[\"ok\",null]"), OK_RESULT);
    assert_int_equal(makes(GET, &answer), COMPARE_DIFFERS);
    difference_free(&compare.difference);

    rules.tolerates_gc = true;
    begin(PAIR(GET, "[\"ok\",null]"), OK_RESULT);
    assert_int_equal(makes(SCHEMATA, &answer), COMPARE_DIFFERS); /* the answer is unknown */
    difference_free(&compare.difference);
    begin(PAIR(SCHEMATA, "[\"ok\",\"s\"]") "," PAIR(GET, "[\"ok\",null]"), OK_RESULT);
    assert_int_equal(makes(GET, &answer), COMPARE_SAME);
    assert_int_equal(reported, 1);
    assert_int_equal(ends("[\"ok\",null]"), COMPARE_SAME);
    difference_free(&compare.difference);
    begin(PAIR(GET, "[\"ok\",null]"), OK_RESULT);
    assert_int_equal(makes(GET, &answer), COMPARE_SAME);
    assert_int_equal(makes(SCHEMATA, &answer), COMPARE_SAME);
    assert_true(scan_is(answer, "[\"ok\",\"s\"]"));
    assert_int_equal(reported, 1);
    assert_int_equal(ends("[\"ok\",null]"), COMPARE_SAME);
    difference_free(&compare.difference);
}

static enum compare_result recorded_and_made(const char *pairs, const char *made, const char *wants)
{
    struct scan_span answer = {0};
    enum compare_result compared;

    begin(pairs, OK_RESULT);
    compared = makes(made, &answer);
    if (wants != NULL)
        assert_true(scan_is(answer, wants));
    difference_free(&compare.difference);
    return compared;
}

static void reads_of_collections_are_simulated_from_what_was_written(void **state)
{
    static const char entry[] = "[\"vatstoreGet\",\"vc.4.sfoo\"]";
    static const char next[] = "[\"vatstoreGetNextKey\",\"vc.4.s\"]";
    static const char set[] = "[\"vatstoreSet\",\"vc.4.sfoo\",\"7\"]";
    static const char gone[] = "[\"vatstoreDelete\",\"vc.4.sfoo\"]";

    (void)state;
    rules.tolerates_gc = true;
    assert_int_equal(
        recorded_and_made(PAIR("[\"vatstoreGetNextKey\",\"vc.4.s\"]", "[\"ok\",\"vc.4.sa\"]"), next,
                          NULL),
        COMPARE_SAME);
    assert_int_equal(recorded_and_made("", next, "[\"ok\",\"vc.4.sa\"]"), COMPARE_SAME);
    assert_int_equal(recorded_and_made(
                         PAIR("[\"vatstoreSet\",\"vc.4.sfoo\",\"7\"]", "[\"ok\",null]"), set, NULL),
                     COMPARE_SAME);
    assert_int_equal(recorded_and_made("", entry, "[\"ok\",\"7\"]"), COMPARE_SAME);
    assert_int_equal(reported, 1);
    /* Another key may follow now. */
    assert_int_equal(recorded_and_made("", next, NULL), COMPARE_DIFFERS);
    assert_int_equal(
        recorded_and_made(PAIR("[\"vatstoreDelete\",\"vc.4.sfoo\"]", "[\"ok\",null]"), gone, NULL),
        COMPARE_SAME);
    assert_int_equal(recorded_and_made("", entry, "[\"ok\",null]"), COMPARE_SAME);
    /* A write is no read. */
    assert_int_equal(recorded_and_made("", set, NULL), COMPARE_DIFFERS);
}

static void allocation_is_compared_when_asked_for(void **state)
{
    static const char two[] = "{\"status\":\"ok\",\"metering\":{\"computrons\":77,\"allocate\":2}}";

    (void)state;
    begin("", two);
    assert_int_equal(ends("[\"ok\",null]"), COMPARE_SAME);
    rules.compares_allocation = true;
    begin("", two);
    assert_int_equal(ends("[\"ok\",null]"), COMPARE_DIFFERS);
    assert_int_equal(compare.difference.aspect, COMPARE_ALLOCATION);
    difference_free(&compare.difference);
    rules.tolerated = 1U << COMPARE_ALLOCATION;
    begin("", two);
    assert_int_equal(ends("[\"ok\",null]"), COMPARE_SAME);
    assert_int_equal(reported, 1);
    difference_free(&compare.difference);
}

static int set_up(void **state)
{
    (void)state;
    rules = (struct compare_rules){0};
    compare.known = json_object();
    return compare.known != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(compare.known);
    recorded_delivery_free(&recorded);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(recorded_results_are_equal),
        TEST(differing_syscall_is_reported_with_both_sides),
        TEST(off_by_one_counts_differ),
        TEST(a_syscall_that_was_refused_is_the_end),
        TEST(results_and_computrons_are_compared),
        TEST(instructions_are_compared_under_the_same_fingerprint),
        TEST(reads_of_gc_are_tolerated_when_asked_for),
        TEST(reads_of_collections_are_simulated_from_what_was_written),
        TEST(allocation_is_compared_when_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
