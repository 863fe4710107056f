/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pipe/ahead.h"

#include "proto/netstring.h"

/* The first netstring of the bytes, which begin with a digit; *used is its length. */
static int cut(const char *bytes, size_t length, size_t *used, struct iovec *answer,
               struct error *error)
{
    struct netstring_decoder decoder;
    enum netstring_result decoded;

    netstring_decoder_init(&decoder, length);
    decoded = netstring_decode(&decoder, bytes, length, used, answer, error);
    netstring_decoder_free(&decoder);
    if (decoded == NETSTRING_MORE)
        return error_set(error, ERROR_INPUT, "an answer ahead is cut short");
    return decoded == NETSTRING_FRAME ? 0 : -1;
}

static bool begins_with_digit(const char *bytes, size_t length)
{
    return length > 0 && bytes[0] >= '0' && bytes[0] <= '9';
}

int ahead_take(struct ahead *ahead, struct iovec payload, struct iovec *command,
               struct error *error)
{
    const char *bytes = payload.iov_base;
    size_t length = 0;

    ahead_drop(ahead);
    while (begins_with_digit(bytes + length, payload.iov_len - length)) {
        struct iovec answer;
        size_t used;

        if (cut(bytes + length, payload.iov_len - length, &used, &answer, error) != 0)
            return -1;
        length += used;
    }
    /* The frame's own memory is the next frame's, which may come before they are used. */
    if (buf_append(&ahead->answers, bytes, length) != 0)
        return error_memory(error, "answers");
    *command = (struct iovec){(char *)payload.iov_base + length, payload.iov_len - length};
    return 0;
}

struct iovec ahead_next(struct ahead *ahead)
{
    struct iovec answer = {0};
    struct error error;
    size_t used = 0;

    /* Cannot fail: it was cut once. */
    (void)cut(ahead->answers.data + ahead->next, ahead->answers.length - ahead->next, &used,
              &answer, &error);
    ahead->next += used;
    return answer;
}

void ahead_drop(struct ahead *ahead)
{
    buf_clear(&ahead->answers);
    ahead->next = 0;
}

void ahead_free(struct ahead *ahead)
{
    buf_free(&ahead->answers);
    ahead->next = 0;
}
