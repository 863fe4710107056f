/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "slog/model/causes.h"

static void send(struct links *links, uint64_t digest, bool promised, uint64_t number)
{
    struct model_message message = {digest, promised};
    struct link context = {{1, 2, number}};
    struct error error;

    assert_int_equal(links_send(links, message, &context, &error), 0);
}

/* The number of the send that brought the message; 0: none is known. */
static uint64_t take(struct links *links, uint64_t digest, bool promised)
{
    struct model_message message = {digest, promised};
    struct link context = {{0}};

    return links_take(links, message, &context) ? context.words[2] : 0;
}

static void test_nothing_is_known_at_first(void **state)
{
    struct links links = {0};

    (void)state;
    assert_int_equal(take(&links, 7, true), 0);
    send(&links, 0, true, 1);
    assert_int_equal(take(&links, 0, true), 0);
    links_free(&links);
}

static void test_same_words_keep_their_order(void **state)
{
    struct links links = {0};

    (void)state;
    send(&links, 7, false, 1);
    send(&links, 7, true, 2);
    send(&links, 7, false, 3);
    assert_int_equal(take(&links, 7, false), 1);
    assert_int_equal(take(&links, 7, false), 3);
    assert_int_equal(take(&links, 7, false), 0);
    assert_int_equal(take(&links, 7, true), 2);
    links_free(&links);
}

static void test_a_promise_given_out_again_is_the_later_one(void **state)
{
    struct links links = {0};

    (void)state;
    send(&links, 7, true, 1);
    send(&links, 7, true, 2);
    assert_int_equal(take(&links, 7, true), 2);
    assert_int_equal(take(&links, 7, true), 0);
    links_free(&links);
}

/*
 * Many messages whose places in the table touch and go round its end, against
 * a plain count: sends of each message are numbered, and return in order.
 */
static void test_order_holds_when_places_are_shared(void **state)
{
    enum { MESSAGES = 40, ROUNDS = 200000 };
    uint64_t sent[MESSAGES] = {0}, taken[MESSAGES] = {0};
    struct links links = {0};
    uint32_t random = 1;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t which;

        random = random * 1664525 + 1013904223;
        which = (random >> 8) % MESSAGES;
        /* Neighbouring places, across the table's end. */
        if ((random >> 24) % 5 < 2 && sent[which] < taken[which] + 20)
            send(&links, UINT64_C(0xfff0) + which / 4 + (which << 48), false, ++sent[which]);
        else if (taken[which] < sent[which])
            assert_int_equal(take(&links, UINT64_C(0xfff0) + which / 4 + (which << 48), false),
                             ++taken[which]);
        else
            assert_int_equal(take(&links, UINT64_C(0xfff0) + which / 4 + (which << 48), false), 0);
    }
    links_free(&links);
}

/* Digests are hashes: neighbours in the table would make each removal walk over all of them. */
static uint64_t digest_of(uint64_t number)
{
    return number * UINT64_C(0x9e3779b97f4a7c15);
}

static void test_the_oldest_are_forgotten(void **state)
{
    enum { KEPT = 131072, MANY = 5 * KEPT };
    struct links links = {0};

    (void)state;
    for (uint64_t i = 1; i <= MANY; i++)
        send(&links, digest_of(i), true, i);
    assert_true(links.old.count + links.young.count <= 2 * KEPT);
    assert_int_equal(take(&links, digest_of(1), true), 0);
    for (uint64_t i = MANY - KEPT + 1; i <= MANY; i++)
        assert_int_equal(take(&links, digest_of(i), true), i);
    links_free(&links);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_known_at_first),
        cmocka_unit_test(test_same_words_keep_their_order),
        cmocka_unit_test(test_a_promise_given_out_again_is_the_later_one),
        cmocka_unit_test(test_order_holds_when_places_are_shared),
        cmocka_unit_test(test_the_oldest_are_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
