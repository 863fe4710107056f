/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "supervisor/profile/native_profile.h"

/* A stream in the making. */
static struct buf bytes;

static void put_head(uint32_t type, uint32_t count)
{
    const struct profile_stream_head head = {type, count};

    assert_int_equal(buf_append(&bytes, &head, sizeof head), 0);
}

static void put_place(uint64_t offset, uint32_t file, uint32_t number, uint32_t caller,
                      uint32_t length)
{
    const struct profile_stream_place place = {offset, file, number, caller, length};

    assert_int_equal(buf_append(&bytes, &place, sizeof place), 0);
}

static void put_cell(uint32_t chain, uint32_t place, uint64_t instructions)
{
    const struct profile_stream_cell cell = {chain, place, instructions};

    assert_int_equal(buf_append(&bytes, &cell, sizeof cell), 0);
}

static void put_region(int64_t began, uint64_t instructions, uint32_t cells)
{
    const struct profile_stream_region region = {began, began + 5, instructions};

    put_head(PROFILE_STREAM_REGION, cells);
    assert_int_equal(buf_append(&bytes, &region, sizeof region), 0);
}

/* A file, two sequences, a chain of two calls, two regions. */
static void put_stream(void)
{
    buf_clear(&bytes);
    put_head(PROFILE_STREAM_PROCESS, 77);
    put_head(PROFILE_STREAM_FILE, 5);
    assert_int_equal(buf_append(&bytes, "/a/bc\0\0\0", 8), 0);
    put_head(PROFILE_STREAM_PLACES, 2);
    put_place(100, 1, 0, 0, 3);
    put_place(200, 0, 4, 0, 2);
    put_head(PROFILE_STREAM_CHAINS, 2);
    put_place(110, 1, 1, 0, 0);
    put_place(120, 1, 2, 1, 0);
    put_region(1000, 15, 2);
    put_cell(0, 0, 9);
    put_cell(2, 4, 6);
    put_region(2000, 3, 1);
    put_cell(1, 0, 3);
}

static int feed(struct region_stream *stream, size_t split)
{
    struct error error;

    if (region_stream_feed(stream, bytes.data, split, &error) != 0)
        return -1;
    return region_stream_feed(stream, bytes.data + split, bytes.length - split, &error);
}

static void assert_stream(const struct region_stream *stream)
{
    const struct region *region = stream->regions;

    assert_int_equal(stream->process, 77);
    assert_string_equal(stream->files[0], "/a/bc");
    assert_int_equal(stream->sequences.items[4].file, REGION_NO_FILE);
    assert_int_equal(stream->chains.items[2].caller, 1);
    assert_int_equal(region->totals.instructions, 15);
    assert_int_equal(region->cell_count, 2);
    assert_int_equal(region->cells[1].chain, 2);
    assert_int_equal(region->next->totals.began, 2000);
    assert_null(region->next->next);
}

static void test_split_anywhere(void **state)
{
    (void)state;
    put_stream();
    for (size_t split = 0; split <= bytes.length; split++) {
        struct region_stream stream = {0};

        assert_int_equal(feed(&stream, split), 0);
        assert_stream(&stream);
        region_stream_forget(&stream, stream.regions);
        assert_int_equal(stream.regions->totals.began, 2000);
        region_stream_free(&stream);
    }
}

/* Numbers out of range, one at a time: where a 32-bit word stands, and what it becomes. */
static void test_what_no_counter_writes(void **state)
{
    enum { HEAD = 8, PLACE = 24, PROCESS = 0, FILE_AT = PROCESS + HEAD, PLACES = FILE_AT + 16 };
    enum { CHAINS = PLACES + HEAD + 2 * PLACE, REGION = CHAINS + HEAD + 2 * PLACE };
    static const struct {
        size_t at;
        uint32_t word;
    } wrong[] = {
        {PROCESS, 9},                     /* no such record */
        {PROCESS + 4, 0},                 /* nor a process */
        {FILE_AT + 4, 1 << 20},           /* a path of a megabyte */
        {FILE_AT + HEAD, 0},              /* with a zero byte */
        {PLACES + 4, UINT32_MAX},         /* too many places */
        {PLACES + HEAD + 8, 2},           /* in a file without a record */
        {PLACES + HEAD + 12, 1U << 31},   /* with too high a number */
        {PLACES + HEAD + 20, 0},          /* without a length */
        {CHAINS + HEAD + 12, 7},          /* a chain out of turn */
        {CHAINS + HEAD + 16, 1},          /* called by itself */
        {CHAINS + HEAD + PLACE + 16, 3},  /* by one that comes later */
        {REGION + 4, UINT32_MAX},         /* too many cells */
        {REGION + HEAD + 16, 14},         /* that do not add up */
        {REGION + HEAD + 24, 9},          /* of a chain without a record */
        {REGION + HEAD + 28, 1},          /* or a sequence, of which there is only a gap */
        {REGION + HEAD + 36, UINT32_MAX}, /* or come to more than can be */
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct region_stream stream = {0};

        put_stream();
        memcpy(bytes.data + wrong[i].at, &wrong[i].word, sizeof wrong[i].word);
        if (feed(&stream, 0) == 0)
            fail_msg("case %zu was taken", i);
        region_stream_free(&stream);
    }
    buf_free(&bytes);
}

static void test_deep_chains(void **state)
{
    struct region_stream stream = {0};

    (void)state;
    buf_clear(&bytes);
    put_head(PROFILE_STREAM_CHAINS, 100000);
    for (uint32_t i = 1; i <= 100000; i++)
        put_place(0, 0, i, i - 1, 0);
    assert_int_equal(feed(&stream, 0), -1);
    region_stream_free(&stream);
    buf_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split_anywhere),
        cmocka_unit_test(test_what_no_counter_writes),
        cmocka_unit_test(test_deep_chains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
