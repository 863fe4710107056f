/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "proto/netstring.h"

enum { CAP = 1000 };

/*
 * Feeds the stream in the pieces that end at first, second and its own end, and
 * appends each frame's payload and a '|' to *frames. Each piece is a copy of its
 * exact size, so that reading beyond it is found.
 */
static enum netstring_result decode(const char *stream, size_t length, size_t first, size_t second,
                                    struct buf *frames, struct error *error)
{
    struct netstring_decoder decoder;
    enum netstring_result result = NETSTRING_MORE;
    const size_t ends[] = {first, second, length};
    size_t at = 0;

    netstring_decoder_init(&decoder, CAP);
    for (int piece = 0; piece < 3; piece++) {
        size_t here = ends[piece] - at, done = 0;
        char *copy;

        if (here == 0)
            continue;
        copy = malloc(here);
        assert_non_null(copy);
        memcpy(copy, stream + at, here);
        while (done < here && result != NETSTRING_BAD) {
            struct iovec payload;
            size_t used;

            result = netstring_decode(&decoder, copy + done, here - done, &used, &payload, error);
            if (result == NETSTRING_FRAME) {
                buf_append(frames, payload.iov_base, payload.iov_len);
                buf_append_byte(frames, '|');
            }
            done += used;
            if (result == NETSTRING_MORE)
                assert_int_equal(done, here);
        }
        free(copy);
        at = ends[piece];
    }
    if (result == NETSTRING_FRAME)
        assert_true(netstring_between_frames(&decoder));
    netstring_decoder_free(&decoder);
    return result;
}

static void frames_are_the_same_at_every_two_split_points(void **state)
{
    static const char stream[] = "1:a,0:,12:hello,world:,3:1:2,0:,";
    size_t length = sizeof stream - 1;

    (void)state;
    for (size_t second = 0; second <= length; second++) {
        for (size_t first = 0; first <= second; first++) {
            struct buf frames = {0};
            struct error error;

            assert_int_equal(decode(stream, length, first, second, &frames, &error),
                             NETSTRING_FRAME);
            assert_string_equal(buf_string(&frames), "a||hello,world:|1:2||");
            buf_free(&frames);
        }
    }
}

static void a_frame_may_be_as_long_as_the_cap_and_no_longer(void **state)
{
    char stream[CAP + 16];
    struct buf frames = {0};
    struct error error;
    int header = sprintf(stream, "%d:", CAP);

    (void)state;
    memset(stream + header, 'x', CAP);
    stream[header + CAP] = ',';
    assert_int_equal(decode(stream, (size_t)header + CAP + 1, 3, 500, &frames, &error),
                     NETSTRING_FRAME);
    assert_int_equal(frames.length, CAP + 1);
    buf_clear(&frames);
    sprintf(stream, "%d:", CAP + 1);
    assert_int_equal(decode(stream, strlen(stream), 0, 0, &frames, &error), NETSTRING_BAD);
    assert_non_null(strstr(error.text, "cap of 1000 bytes"));
    buf_free(&frames);
}

/* Refused at the byte that makes it wrong, wherever the pieces end. */
static void rejects_invalid_netstrings_at_every_split_point(void **state)
{
    static const struct {
        const char *stream, *words;
    } cases[] = {
        {"-1:a,", "not '-'"},
        {"+1:a,", "not '+'"},
        {" 1:a,", "not byte 0x20"},
        {"1 :a,", "not byte 0x20"},
        {":a,", "not ':'"},
        {"a", "not 'a'"},
        {"\xff", "not byte 0xff"},
        {"0x1:a,", "not 'x'"},
        {"1,a,", "not ','"},
        {"01:a,", "leading zero"},
        {"00:,", "leading zero"},
        {"1001:", "cap of 1000 bytes"},
        {"99999999999999999999999999999999:", "cap of 1000 bytes"},
        {"18446744073709551617:a,", "cap of 1000 bytes"},
        {"1:ab", "does not end with ','"},
        {"0:a", "does not end with ','"},
        {"1:a,1:b,2:c,d", "does not end with ','"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = strlen(cases[i].stream);

        for (size_t split = 0; split <= length; split++) {
            struct buf frames = {0};
            struct error error = {0};

            assert_int_equal(decode(cases[i].stream, length, split, split, &frames, &error),
                             NETSTRING_BAD);
            assert_int_equal(error.kind, ERROR_INPUT);
            assert_non_null(strstr(error.text, cases[i].words));
            buf_free(&frames);
        }
    }
}

/* The stream as reads of at most `step` bytes take it, straight to the payload where that
 * can be; frames as in decode(). */
static enum netstring_result read_stream(const char *stream, size_t length, size_t step,
                                         struct buf *frames, struct error *error)
{
    struct netstring_decoder decoder;
    enum netstring_result result = NETSTRING_MORE;
    size_t at = 0;

    netstring_decoder_init(&decoder, CAP);
    while (at < length && result != NETSTRING_BAD) {
        size_t here = length - at < step ? length - at : step;
        struct iovec rest, payload;

        if (netstring_rest(&decoder, &rest)) {
            here = here < rest.iov_len ? here : rest.iov_len;
            memcpy(rest.iov_base, stream + at, here);
            result = netstring_take_rest(&decoder, here, &payload, error);
        } else {
            result = netstring_decode(&decoder, stream + at, here, &here, &payload, error);
        }
        if (result == NETSTRING_FRAME) {
            buf_append(frames, payload.iov_base, payload.iov_len);
            buf_append_byte(frames, '|');
        }
        at += here;
    }
    netstring_decoder_free(&decoder);
    return result;
}

static void the_rest_of_a_payload_can_be_read_straight_to_its_place(void **state)
{
    static const char stream[] = "1:a,0:,12:hello,world:,3:1:2,0:,";
    struct error error;

    (void)state;
    for (size_t step = 1; step < sizeof stream; step++) {
        struct buf frames = {0};

        assert_int_equal(read_stream(stream, sizeof stream - 1, step, &frames, &error),
                         NETSTRING_FRAME);
        assert_string_equal(buf_string(&frames), "a||hello,world:|1:2||");
        buf_clear(&frames);
        assert_int_equal(read_stream("12:hello,world:;", 16, step, &frames, &error), NETSTRING_BAD);
        assert_non_null(strstr(error.text, "does not end with ','"));
        buf_free(&frames);
    }
}

static void the_end_of_a_stream_is_clean_only_between_frames(void **state)
{
    static const char stream[] = "3:abc,";
    struct error error;

    (void)state;
    for (size_t length = 0; length < sizeof stream; length++) {
        struct netstring_decoder decoder;
        struct iovec payload;
        size_t used;

        netstring_decoder_init(&decoder, CAP);
        netstring_decode(&decoder, stream, length, &used, &payload, &error);
        assert_int_equal(netstring_between_frames(&decoder),
                         length == 0 || length == sizeof stream - 1);
        netstring_decoder_free(&decoder);
    }
}

static void a_length_takes_no_memory_before_its_bytes_come(void **state)
{
    struct netstring_decoder decoder;
    struct iovec payload;
    struct error error;
    size_t used;

    (void)state;
    netstring_decoder_init(&decoder, NETSTRING_CAP_DEFAULT);
    assert_int_equal(netstring_decode(&decoder, "67108864", 8, &used, &payload, &error),
                     NETSTRING_MORE);
    assert_int_equal(decoder.partial.capacity, 0);
    assert_int_equal(netstring_decode(&decoder, "0", 1, &used, &payload, &error), NETSTRING_BAD);
    assert_int_equal(decoder.partial.capacity, 0);
    netstring_decoder_free(&decoder);
}

static void parts_are_framed_as_one(void **state)
{
    const struct iovec parts[] = {{(char *)"ab", 2}, {NULL, 0}, {(char *)"cdefghijk", 9}};
    struct netstring_frame frame;
    struct buf bytes = {0};

    (void)state;
    netstring_encode(&frame, parts, 3);
    for (int i = 0; i < frame.count; i++)
        buf_append(&bytes, frame.pieces[i].iov_base, frame.pieces[i].iov_len);
    assert_int_equal(frame.size, bytes.length);
    assert_string_equal(buf_string(&bytes), "11:abcdefghijk,");
    buf_clear(&bytes);
    netstring_encode(&frame, parts, 0);
    for (int i = 0; i < frame.count; i++)
        buf_append(&bytes, frame.pieces[i].iov_base, frame.pieces[i].iov_len);
    assert_string_equal(buf_string(&bytes), "0:,");
    buf_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_the_same_at_every_two_split_points),
        cmocka_unit_test(a_frame_may_be_as_long_as_the_cap_and_no_longer),
        cmocka_unit_test(rejects_invalid_netstrings_at_every_split_point),
        cmocka_unit_test(the_rest_of_a_payload_can_be_read_straight_to_its_place),
        cmocka_unit_test(the_end_of_a_stream_is_clean_only_between_frames),
        cmocka_unit_test(a_length_takes_no_memory_before_its_bytes_come),
        cmocka_unit_test(parts_are_framed_as_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
