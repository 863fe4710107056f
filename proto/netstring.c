/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/netstring.h"

#include <string.h>

void netstring_decoder_init(struct netstring_decoder *decoder, size_t cap)
{
    *decoder = (struct netstring_decoder){.cap = cap};
}

void netstring_decoder_free(struct netstring_decoder *decoder)
{
    buf_free(&decoder->partial);
}

static enum netstring_result bad_length_byte(unsigned char byte, struct error *error)
{
    const char *expected = "a frame's length needs decimal digits and then ':'";

    if (byte > ' ' && byte < 0x7f)
        error_set(error, ERROR_INPUT, "%s, not '%c'", expected, byte);
    else
        error_set(error, ERROR_INPUT, "%s, not byte 0x%02x", expected, byte);
    return NETSTRING_BAD;
}

/*
 * The length is checked while it is read: it cannot overflow, and no memory is allocated for a
 * length over the cap.
 */
static enum netstring_result take_length_byte(struct netstring_decoder *decoder, unsigned char byte,
                                              struct error *error)
{
    if (byte == ':' && decoder->digits > 0) {
        decoder->state = NETSTRING_PAYLOAD;
        buf_clear(&decoder->partial);
        return NETSTRING_MORE;
    }
    if (byte < '0' || byte > '9')
        return bad_length_byte(byte, error);
    if (decoder->digits > 0 && decoder->length == 0) {
        error_set(error, ERROR_INPUT, "a frame's length has a leading zero");
        return NETSTRING_BAD;
    }
    decoder->digits++;
    decoder->length = decoder->length * 10 + (byte - '0');
    if (decoder->length > decoder->cap) {
        error_set(error, ERROR_INPUT, "a frame is longer than the cap of %zu bytes", decoder->cap);
        return NETSTRING_BAD;
    }
    return NETSTRING_MORE;
}

static enum netstring_result take_length(struct netstring_decoder *decoder, const char *bytes,
                                         size_t length, size_t *used, struct error *error)
{
    while (*used < length && decoder->state == NETSTRING_LENGTH) {
        if (take_length_byte(decoder, (unsigned char)bytes[*used], error) == NETSTRING_BAD)
            return NETSTRING_BAD;
        (*used)++;
    }
    return NETSTRING_MORE;
}

/*
 * Points at the payload in `bytes` if it is complete with its comma, so that usual frames are not
 * copied; else collects it.
 */
static enum netstring_result take_payload(struct netstring_decoder *decoder, const char *bytes,
                                          size_t length, size_t *used, struct iovec *payload,
                                          struct error *error)
{
    size_t missing = decoder->length - decoder->partial.length;
    size_t here = length - *used;

    if (decoder->partial.length == 0 && here > missing) {
        *payload = (struct iovec){.iov_base = (char *)bytes + *used, .iov_len = missing};
        *used += missing;
    } else {
        if (here > missing)
            here = missing;
        /* One more byte, so that netstring_rest() includes the comma. */
        if (buf_reserve(&decoder->partial, missing + 1) != 0 ||
            buf_append(&decoder->partial, bytes + *used, here) != 0) {
            error_memory(error, "a frame");
            return NETSTRING_BAD;
        }
        *used += here;
        if (here < missing)
            return NETSTRING_MORE;
        *payload = (struct iovec){.iov_base = decoder->partial.data, .iov_len = decoder->length};
    }
    decoder->state = NETSTRING_COMMA;
    return NETSTRING_MORE;
}

static enum netstring_result take_comma(struct netstring_decoder *decoder, unsigned char byte,
                                        struct error *error)
{
    if (byte != ',') {
        error_set(error, ERROR_INPUT, "a frame of %zu bytes does not end with ','",
                  decoder->length);
        return NETSTRING_BAD;
    }
    decoder->state = NETSTRING_LENGTH;
    decoder->digits = 0;
    decoder->length = 0;
    return NETSTRING_FRAME;
}

enum netstring_result netstring_decode(struct netstring_decoder *decoder, const char *bytes,
                                       size_t length, size_t *used, struct iovec *payload,
                                       struct error *error)
{
    *used = 0;
    if (decoder->state == NETSTRING_LENGTH &&
        take_length(decoder, bytes, length, used, error) == NETSTRING_BAD)
        return NETSTRING_BAD;
    if (decoder->state == NETSTRING_COMMA) /* the payload came with an earlier piece */
        *payload = (struct iovec){.iov_base = decoder->partial.data, .iov_len = decoder->length};
    if (decoder->state == NETSTRING_PAYLOAD &&
        take_payload(decoder, bytes, length, used, payload, error) == NETSTRING_BAD)
        return NETSTRING_BAD;
    if (decoder->state != NETSTRING_COMMA || *used == length)
        return NETSTRING_MORE;
    return take_comma(decoder, (unsigned char)bytes[(*used)++], error);
}

bool netstring_rest(struct netstring_decoder *decoder, struct iovec *rest)
{
    struct buf *partial = &decoder->partial;

    if (decoder->state != NETSTRING_PAYLOAD || partial->length == 0)
        return false;
    *rest = (struct iovec){
        .iov_base = partial->data + partial->length,
        .iov_len = decoder->length - partial->length + 1,
    };
    return true;
}

enum netstring_result netstring_take_rest(struct netstring_decoder *decoder, size_t length,
                                          struct iovec *payload, struct error *error)
{
    struct buf *partial = &decoder->partial;

    partial->length += length;
    if (partial->length < decoder->length)
        return NETSTRING_MORE;
    decoder->state = NETSTRING_COMMA;
    if (partial->length == decoder->length)
        return NETSTRING_MORE;
    partial->length = decoder->length;
    *payload = (struct iovec){.iov_base = partial->data, .iov_len = decoder->length};
    return take_comma(decoder, (unsigned char)partial->data[decoder->length], error);
}

/* The digits of 2^64 - 1. */
enum { DIGITS_MAX = 20 };

/* `LEN:` at the end of digits; returns how many bytes. */
static size_t put_header(char digits[DIGITS_MAX + 1], size_t length)
{
    char *at = digits + DIGITS_MAX;

    *at = ':';
    do {
        *--at = (char)('0' + length % 10);
        length /= 10;
    } while (length > 0);
    return (size_t)(digits + DIGITS_MAX + 1 - at);
}

static void netstring_put_pieces(struct netstring_frame *frame, size_t header,
                                 const struct iovec *parts, int count)
{
    frame->pieces[0] = (struct iovec){.iov_base = frame->packed, .iov_len = header};
    for (int i = 0; i < count; i++)
        frame->pieces[1 + i] = parts[i];
    frame->pieces[1 + count] = (struct iovec){.iov_base = (char *)",", .iov_len = 1};
    frame->count = count + 2;
}

static void netstring_put_packed(struct netstring_frame *frame, size_t header,
                                 const struct iovec *parts, int count)
{
    char *at = frame->packed + header;

    for (int i = 0; i < count; i++)
        if (parts[i].iov_len > 0) /* the address of nothing may be NULL */
            at = mempcpy(at, parts[i].iov_base, parts[i].iov_len);
    *at = ',';
    frame->pieces[0] = (struct iovec){.iov_base = frame->packed, .iov_len = frame->size};
    frame->count = 1;
}

void netstring_encode(struct netstring_frame *frame, const struct iovec *parts, int count)
{
    char digits[DIGITS_MAX + 1];
    size_t length = 0, header;

    for (int i = 0; i < count; i++)
        length += parts[i].iov_len;
    header = put_header(digits, length);
    memcpy(frame->packed, digits + sizeof digits - header, header);
    frame->size = header + length + 1;
    if (frame->size <= sizeof frame->packed)
        netstring_put_packed(frame, header, parts, count);
    else
        netstring_put_pieces(frame, header, parts, count);
}

size_t netstring_size(size_t payload)
{
    char digits[DIGITS_MAX + 1];

    return put_header(digits, payload) + payload + 1;
}
