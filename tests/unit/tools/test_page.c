/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "tools/html/page.h"

enum { MILLISECOND = 1000 * 1000 };

/* A delivery of 3 ms, all of it the worker's but the ways there and back. */
static const struct model_span spans[] = {
    {MODEL_SEND, false, UINT32_MAX, 0, MILLISECOND},
    {MODEL_WORKER, false, UINT32_MAX, MILLISECOND, 2 * MILLISECOND},
    {MODEL_RETURN, false, UINT32_MAX, 2 * MILLISECOND, 3 * MILLISECOND},
};

static struct model_delivery delivery_at(int64_t start)
{
    return (struct model_delivery){.vat_id = "v1",
                                   .vat_name = "bank",
                                   .kind = "notify",
                                   .method = "",
                                   .description = "notify p+1",
                                   .problem = "",
                                   .arguments = "p+1",
                                   .heap_slots = NAN,
                                   .allocated = NAN,
                                   .gas = NAN,
                                   .crank_num = MODEL_NONE,
                                   .delivery_num = MODEL_NONE,
                                   .block_height = MODEL_NONE,
                                   .start = start,
                                   .total = 3 * MILLISECOND,
                                   .pipe = 2 * MILLISECOND,
                                   .worker = MILLISECOND,
                                   .between = MODEL_NONE,
                                   .compute = NAN,
                                   .instructions = NAN,
                                   .spans = spans,
                                   .span_count = sizeof spans / sizeof spans[0]};
}

/* The page of deliveries with these starts, within these limits; to be freed. */
static struct buf page_of(const int64_t *starts, size_t count, struct page_limits limits)
{
    char path[] = "/tmp/test_page.XXXXXX";
    char *files[] = {"a.slog", NULL};
    int fd = mkstemp(path);
    struct tally tally = {0};
    struct buf text = {0};
    struct error error;
    struct page *page;

    assert_true(fd >= 0);
    close(fd);
    page = page_open(path, files, limits, &error);
    assert_non_null(page);
    for (size_t i = 0; i < count; i++) {
        struct model_delivery delivery = delivery_at(starts[i]);

        assert_int_equal(page_add(page, &delivery, true, &error), 0);
    }
    assert_int_equal(page_finish(page, &tally, &error), 0);
    page_free(page);
    assert_int_equal(io_read_file(path, 1 << 20, &text, &error), 0);
    assert_non_null(buf_string(&text));
    unlink(path);
    return text;
}

static void assert_has(const struct buf *text, const char *words)
{
    if (strstr(text->data, words) == NULL)
        fail_msg("no %s in the page", words);
}

static const int64_t starts[] = {5 * MILLISECOND, 9 * MILLISECOND, 13 * MILLISECOND};

static void values_beyond_the_limits_are_counted(void **state)
{
    struct buf text = page_of(starts, 3, (struct page_limits){.deliveries = 2, .detail_bytes = 1});

    (void)state;
    assert_has(&text, "\"counts\":{\"shown\":2,\"hidden\":1,\"placeless\":0,\"detailed\":1,");
    assert_has(&text, "{\"start\":[0,4000000],\"total\":[3000000,3000000],");
    /* Two bytes of unit, one of unseen requests, two for each span; the second has none. */
    assert_has(&text, "\"lengths\":[9,0],\"said\":[[],[]]");
    /* Sums are of all three. */
    assert_has(&text,
               "{\"by\":\"all\",\"name\":\"\",\"label\":\"\",\"columns\":{\"total\":[3,9000000,");
    buf_free(&text);
}

static void starts_that_are_too_far_apart_have_no_place(void **state)
{
    static const int64_t far[] = {INT64_MIN + 1, INT64_MAX, MODEL_NONE, 0};
    struct buf text = page_of(far, 4, PAGE_LIMITS);

    (void)state;
    assert_has(&text, "\"counts\":{\"shown\":1,\"hidden\":0,\"placeless\":3,");
    buf_free(&text);
}

/* Unit 1000; no unseen request; then kind + 8 * 1000 µs, seven bits to a byte: SEND 0, WORKER 1,
 * RETURN 5. */
static void spans_are_packed_as_the_header_says(void **state)
{
    struct buf text = page_of(starts, 1, PAGE_LIMITS);

    (void)state;
    assert_has(&text, "\"lengths\":[9],\"said\":[[\"p+1\"]],\"bytes\":\"6AcAwD7BPsU+\"");
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_beyond_the_limits_are_counted),
        cmocka_unit_test(starts_that_are_too_far_apart_have_no_place),
        cmocka_unit_test(spans_are_packed_as_the_header_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
