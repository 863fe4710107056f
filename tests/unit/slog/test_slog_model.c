/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "slog/model/model.h"
#include "slog/model/spans.h"

enum { REQUESTS = 4, STAMPS = 2 + 2 * REQUESTS };

/* A delivery of four requests; moment n is at n × n, so that no two spans are of one length. */
struct story {
    struct model_event events[REQUESTS];
    int64_t stamps[STAMPS + 4];
    struct moments moments;
};

static int64_t at(int64_t n)
{
    return 1000 + n * n;
}

static void make_story(struct story *story)
{
    int64_t n = 0;

    *story = (struct story){0};
    story->moments.sent = at(n++);
    story->stamps[0] = at(n++);
    for (size_t i = 0; i < REQUESTS; i++) {
        story->stamps[1 + 2 * i] = at(n++);
        story->events[i].arrived = at(n++);
        story->events[i].answered = at(n++);
        story->stamps[2 + 2 * i] = at(n++);
    }
    story->stamps[STAMPS - 1] = at(n++);
    for (size_t i = STAMPS; i < STAMPS + 4; i++)
        story->stamps[i] = story->stamps[STAMPS - 1];
    story->moments.returned = at(n);
    story->moments.frame_sent = story->moments.sent;
    story->moments.frame_returned = story->moments.returned;
    story->moments.stamps = story->stamps;
    story->moments.stamp_count = STAMPS;
    story->moments.events = story->events;
    story->moments.event_count = REQUESTS;
    story->moments.capped = true;
}

static struct model_delivery build(const struct moments *moments, struct spans *spans)
{
    struct model_delivery delivery = {0};
    struct error error;

    assert_int_equal(spans_build(spans, moments, &delivery, &error), 0);
    return delivery;
}

static int64_t known(int64_t time)
{
    return time == MODEL_NONE ? 0 : time;
}

/* From the kernel's sending to its receiving without gap, and the sums add up. */
static void expect_whole(const struct moments *moments, const struct model_delivery *delivery)
{
    int64_t end = moments->sent;

    for (size_t i = 0; i < delivery->span_count; i++) {
        assert_int_equal(delivery->spans[i].from, end);
        end = delivery->spans[i].to;
    }
    assert_true(delivery->span_count == 0 || end == moments->returned);
    assert_int_equal(delivery->total, moments->returned - moments->sent);
    assert_int_equal(delivery->total, known(delivery->pipe) + known(delivery->worker) +
                                          known(delivery->kernel) + delivery->unattributed);
}

static void splits_a_full_story(void **state)
{
    struct story story;
    struct spans spans = {0};
    struct model_delivery delivery;
    int64_t kernel = 0;

    (void)state;
    make_story(&story);
    delivery = build(&story.moments, &spans);
    expect_whole(&story.moments, &delivery);
    for (size_t i = 0; i < REQUESTS; i++)
        kernel += story.events[i].answered - story.events[i].arrived;
    assert_int_equal(delivery.coverage, MODEL_FULL);
    assert_int_equal(delivery.overrun, 0);
    assert_int_equal(delivery.kernel, kernel);
    assert_int_equal(delivery.unattributed, 0);
    assert_int_equal(delivery.span_count, 3 + 4 * REQUESTS);
    assert_false(delivery.clock_changed);
    spans_free(&spans);
}

/* However many stamps are there: what they cover is split, the rest is not. */
static void splits_what_stamps_cover(void **state)
{
    struct story story;
    struct spans spans = {0};

    (void)state;
    make_story(&story);
    for (size_t count = 1; count < STAMPS; count++) {
        struct model_delivery delivery;

        story.moments.stamp_count = count;
        delivery = build(&story.moments, &spans);
        expect_whole(&story.moments, &delivery);
        assert_int_equal(delivery.coverage, MODEL_CUT);
        assert_int_equal(delivery.overrun, 1);
        assert_int_equal(delivery.unattributed, story.moments.returned - story.stamps[count - 1]);
    }
    spans_free(&spans);
}

static void knows_nothing_without_stamps(void **state)
{
    struct story story;
    struct spans spans = {0};
    struct model_delivery delivery;

    (void)state;
    make_story(&story);
    story.moments.stamp_count = 0;
    delivery = build(&story.moments, &spans);
    expect_whole(&story.moments, &delivery);
    assert_int_equal(delivery.coverage, MODEL_BARE);
    assert_int_equal(delivery.worker, MODEL_NONE);
    assert_int_equal(delivery.unattributed, delivery.total);
    spans_free(&spans);
}

/* More pairs than lines: the worker's time is sure, and nothing else. */
static void takes_only_the_workers_time_of_unmatched_stamps(void **state)
{
    struct story story;
    struct spans spans = {0};
    struct model_delivery delivery;
    int64_t worker = 0;

    (void)state;
    make_story(&story);
    story.moments.event_count = REQUESTS - 1;
    for (size_t i = 0; i < STAMPS; i += 2)
        worker += story.stamps[i + 1] - story.stamps[i];
    for (int replay = 0; replay < 2; replay++) {
        story.moments.replay = replay;
        delivery = build(&story.moments, &spans);
        expect_whole(&story.moments, &delivery);
        assert_int_equal(delivery.coverage, MODEL_LOOSE);
        assert_int_equal(delivery.overrun, 0);
        assert_int_equal(delivery.worker, worker);
        assert_int_equal(delivery.pipe, MODEL_NONE);
        assert_int_equal(delivery.kernel, MODEL_NONE);
    }
    spans_free(&spans);
}

/*
 * 502 stamps of a replay: a full tally by the lines may be a cut one, since
 * consoles have stamps and no lines. Our own workers keep all.
 */
static void does_not_take_a_capped_replay_for_full(void **state)
{
    enum { LINES = 250 };
    static struct model_event events[LINES];
    static int64_t stamps[SPANS_CAP];
    struct moments moments = {.sent = 0,
                              .returned = 1000000,
                              .frame_returned = 1000000,
                              .stamps = stamps,
                              .stamp_count = SPANS_CAP,
                              .events = events,
                              .event_count = LINES,
                              .capped = true};
    struct spans spans = {0};

    (void)state;
    for (size_t i = 0; i < SPANS_CAP; i++)
        stamps[i] = (int64_t)i * 100;
    for (size_t i = 0; i < LINES; i++)
        events[i].arrived = events[i].answered = (int64_t)i * 200 + 150;
    assert_int_equal(build(&moments, &spans).coverage, MODEL_FULL);
    moments.replay = true;
    assert_int_equal(build(&moments, &spans).coverage, MODEL_LOOSE);
    assert_int_equal(build(&moments, &spans).overrun, -1);
    moments.capped = false;
    assert_int_equal(build(&moments, &spans).coverage, MODEL_FULL);
    spans_free(&spans);
}

/*
 * A client whose frames leave 1 ns after the kernel's lines and come 1 ns before them, on a
 * clock that is 500 ns late: time between line and frame is the kernel's.
 */
static void gives_the_kernel_what_lies_before_the_frames(void **state)
{
    enum { BEHIND = 500 };
    int64_t client_mono[STAMPS], client_real[STAMPS], worker_mono[STAMPS];
    struct outcome outcome = {.client_monotimes = {client_mono, STAMPS, STAMPS},
                              .client_timestamps = {client_real, STAMPS, STAMPS},
                              .monotimes = {worker_mono, STAMPS, STAMPS}};
    struct story story, lines;
    struct spans spans = {0};
    struct model_delivery with, without;

    (void)state;
    make_story(&lines);
    make_story(&story);
    client_real[0] = lines.moments.sent + 1;
    client_real[STAMPS - 1] = lines.moments.returned - 1;
    for (size_t i = 0; i < REQUESTS; i++) {
        client_real[1 + 2 * i] = lines.events[i].arrived - 1;
        client_real[2 + 2 * i] = lines.events[i].answered + 1;
    }
    for (size_t i = 0; i < STAMPS; i++) {
        client_mono[i] = client_real[i] - BEHIND;
        worker_mono[i] = lines.stamps[i] - BEHIND;
    }
    without = build(&lines.moments, &spans);
    assert_true(client_times_use(&outcome, story.events, &story.moments));
    with = build(&story.moments, &spans);
    assert_int_equal(with.total, without.total);
    assert_int_equal(with.worker, without.worker);
    assert_int_equal(with.pipe, without.pipe - 2 - 2 * REQUESTS);
    assert_int_equal(with.kernel, without.kernel + 2 + 2 * REQUESTS);
    assert_int_equal(with.unattributed, 0);

    /* A frame that came before it was sent, and one that is missing, are no story. */
    make_story(&story);
    client_mono[1] = worker_mono[1] - 1;
    assert_false(client_times_use(&outcome, story.events, &story.moments));
    client_mono[1] = worker_mono[1];
    outcome.client_monotimes.count--;
    assert_false(client_times_use(&outcome, story.events, &story.moments));
    assert_int_equal(story.events[0].arrived, lines.events[0].arrived);
    spans_free(&spans);
}

/* A request whose syscall-result is missing: up is known, what follows is not. */
static void leaves_unanswered_requests_open(void **state)
{
    struct story story;
    struct spans spans = {0};
    struct model_delivery delivery;

    (void)state;
    make_story(&story);
    story.events[1].answered = MODEL_NONE;
    delivery = build(&story.moments, &spans);
    expect_whole(&story.moments, &delivery);
    assert_int_equal(delivery.unattributed, story.stamps[4] - story.events[1].arrived);
    spans_free(&spans);
}

static size_t count_spoiled(const struct model_delivery *delivery)
{
    size_t count = 0;

    for (size_t i = 0; i < delivery->span_count; i++)
        count += delivery->spans[i].spoiled;
    return count;
}

static void marks_what_a_change_of_the_clock_spoils(void **state)
{
    struct story story;
    struct spans spans = {0};
    struct model_delivery delivery;

    (void)state;
    make_story(&story);
    story.events[1].changed_within = true;
    delivery = build(&story.moments, &spans);
    assert_int_equal(count_spoiled(&delivery), 1);
    assert_true(delivery.clock_changed);
    story.events[1].changed_within = false;
    /* Between an answer and the next request: the way down, the worker, the way up. */
    story.events[2].changed_before = true;
    delivery = build(&story.moments, &spans);
    assert_int_equal(count_spoiled(&delivery), 3);
    story.moments.steady = true;
    delivery = build(&story.moments, &spans);
    assert_int_equal(count_spoiled(&delivery), 0);
    /* An unnoticed one shows as a span that ends before it begins. */
    story.events[2].changed_before = false;
    story.events[3].answered = story.events[3].arrived - 5;
    delivery = build(&story.moments, &spans);
    assert_int_equal(count_spoiled(&delivery), 1);
    spans_free(&spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_a_full_story),
        cmocka_unit_test(splits_what_stamps_cover),
        cmocka_unit_test(knows_nothing_without_stamps),
        cmocka_unit_test(takes_only_the_workers_time_of_unmatched_stamps),
        cmocka_unit_test(does_not_take_a_capped_replay_for_full),
        cmocka_unit_test(gives_the_kernel_what_lies_before_the_frames),
        cmocka_unit_test(leaves_unanswered_requests_open),
        cmocka_unit_test(marks_what_a_change_of_the_clock_spoils),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
