/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes, decoded at once and in pieces: the same frames and the same end
 * either way, and each frame encoded again is the bytes that it was read from.
 * The first byte of an input chooses the pieces, the rest is the stream.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "proto/netstring.h"
#include "tests/fuzz/fuzz.h"

enum { CAP = 4096 };

static void append_again(struct buf *again, const struct iovec *payload)
{
    struct netstring_frame frame;
    size_t before = again->length;

    netstring_encode(&frame, payload, 1);
    for (int i = 0; i < frame.count; i++)
        buf_append(again, frame.pieces[i].iov_base, frame.pieces[i].iov_len);
    check(again->length - before == frame.size);
}

/* Decodes, and encodes the frames again into `again`. Returns the last result. */
static enum netstring_result decode(const char *bytes, size_t length, size_t piece,
                                    struct buf *again)
{
    struct netstring_decoder decoder;
    enum netstring_result result = NETSTRING_MORE;
    size_t at = 0;

    netstring_decoder_init(&decoder, CAP);
    while (at < length && result != NETSTRING_BAD) {
        struct iovec payload = {0};
        struct error error;
        size_t used, here = length - at < piece ? length - at : piece;
        char *copy = malloc(here); /* of its exact size: reading beyond it is found */

        check(copy != NULL);
        memcpy(copy, bytes + at, here);
        result = netstring_decode(&decoder, copy, here, &used, &payload, &error);
        check(used <= here && (result != NETSTRING_MORE || used == here));
        if (result == NETSTRING_FRAME)
            append_again(again, &payload);
        free(copy);
        at += used;
    }
    netstring_decoder_free(&decoder);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole = {0}, pieces = {0};

    if (size < 2)
        return 0;
    check(decode((const char *)data + 1, size - 1, size, &whole) ==
          decode((const char *)data + 1, size - 1, data[0] % 16 + 1, &pieces));
    check(whole.length == pieces.length && whole.length <= size - 1);
    if (whole.length > 0) {
        check(memcmp(whole.data, pieces.data, whole.length) == 0);
        check(memcmp(whole.data, data + 1, whole.length) == 0);
    }
    buf_free(&whole);
    buf_free(&pieces);
    return 0;
}
