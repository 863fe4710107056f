/* SPDX-License-Identifier: Apache-2.0 */
/* A spool returns what was appended, from memory or from the file, and its memory stays bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/output/spool.h"

enum { LENGTH_MAX = 6 * SPOOL_MEMORY };

static char expected[LENGTH_MAX], pattern[LENGTH_MAX], read_back[2 * SPOOL_MEMORY];

struct reading {
    size_t length;
};

static int take(void *context, struct iovec piece)
{
    struct reading *reading = context;

    assert_true(reading->length + piece.iov_len <= LENGTH_MAX);
    assert_memory_equal(expected + reading->length, piece.iov_base, piece.iov_len);
    reading->length += piece.iov_len;
    return 0;
}

static void check(struct spool *spool, size_t length)
{
    struct reading reading = {0};
    struct iovec bytes;
    struct error error;

    assert_int_equal(spool_length(spool), length);
    assert_true(spool->tail.capacity <= 2 * SPOOL_MEMORY);
    assert_int_equal(spool_each(spool, take, &reading, &error), 0);
    assert_int_equal(reading.length, length);
    assert_int_equal(spool_map(spool, &bytes, &error), 0);
    assert_int_equal(bytes.iov_len, length);
    if (length > 0)
        assert_memory_equal(bytes.iov_base, expected, length);
    spool_unmap(spool, bytes);
    for (size_t at = 0; at < length; at += length / 3 + 1) {
        const size_t some = length - at < sizeof read_back ? length - at : sizeof read_back;

        assert_int_equal(spool_read(spool, at, read_back, some, &error), 0);
        assert_memory_equal(read_back, expected + at, some);
    }
}

static uint32_t next_random(void)
{
    static uint32_t seed = 2463534242U;

    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static void any_pieces_come_back(void **state)
{
    struct spool spool = {0};
    size_t length = 0;

    (void)state;
    for (size_t i = 0; i < LENGTH_MAX; i++)
        pattern[i] = (char)next_random();
    for (int step = 0; step < 400; step++) {
        const size_t more = (size_t)next_random() % (step % 8 == 0 ? 2 * SPOOL_MEMORY : 100000);

        if (step % 7 == 3) {
            const size_t place = length > 0 ? (size_t)next_random() % length : 0;
            const size_t taken = length > 0 ? (size_t)next_random() % length / 4 : 0;

            if (length + 300 <= LENGTH_MAX) {
                spool_insert(&spool, place, pattern + step, 300);
                memmove(expected + place + 300, expected + place, length - place);
                memcpy(expected + place, pattern + step, 300);
                length += 300;
            }
            spool_consume(&spool, taken);
            length -= taken;
            memmove(expected, expected + taken, length);
        } else if (length + more > LENGTH_MAX || step % 5 == 4) {
            length = step % 50 == 49 || length == 0 ? 0 : (size_t)next_random() % length;
            spool_truncate(&spool, length);
        } else {
            spool_append(&spool, pattern + step, more);
            memcpy(expected + length, pattern + step, more);
            length += more;
        }
        check(&spool, length);
    }
    spool_free(&spool);
}

static void failure_is_reported_until_all_is_dropped(void **state)
{
    struct spool spool = {0};
    struct iovec bytes;
    struct error error;

    (void)state;
    spool_keep_in("/nonexistent");
    spool_append(&spool, pattern, 2 * SPOOL_MEMORY);
    spool_append_string(&spool, "more");
    assert_int_equal(spool_map(&spool, &bytes, &error), -1);
    assert_int_equal(error.kind, ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "/nonexistent"));
    spool_truncate(&spool, 0);
    spool_append_string(&spool, "more");
    assert_int_equal(spool_map(&spool, &bytes, &error), 0);
    assert_memory_equal(bytes.iov_base, "more", 4);
    spool_keep_in(NULL);
    spool_free(&spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_pieces_come_back),
        cmocka_unit_test(failure_is_reported_until_all_is_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
