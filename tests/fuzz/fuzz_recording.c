/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a record of a session: what is taken can be put, and is taken again. */
#include <string.h>

#include "proto/recording.h"
#include "tests/fuzz/fuzz.h"

static void again(const struct recorded_frame *frame)
{
    char prefix[RECORDING_PREFIX_SIZE];
    struct recorded_frame other;
    struct buf record = {0};
    struct error error;

    buf_append(&record, prefix, recording_put_prefix(prefix, frame->direction, frame->stamp));
    buf_append(&record, frame->bytes.iov_base, frame->bytes.iov_len);
    check(recording_take_frame(&other, (struct iovec){record.data, record.length}, &error) == 0);
    check(other.direction == frame->direction && other.stamp.mono == frame->stamp.mono &&
          other.stamp.real == frame->stamp.real && other.bytes.iov_len == frame->bytes.iov_len);
    buf_free(&record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iovec payload = {(char *)data, size};
    struct recording_head head;
    struct recorded_frame frame;
    struct error error;

    (void)recording_begins((const char *)data, size);
    (void)recording_take_head(&head, payload, &error);
    if (recording_take_frame(&frame, payload, &error) == 0)
        again(&frame);
    return 0;
}
