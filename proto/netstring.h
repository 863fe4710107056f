/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_PROTO_NETSTRING_H
#define GASPIPE_PROTO_NETSTRING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Netstrings, the frames of the pipe: `LEN:BYTES,` where LEN is decimal without sign, blank or
 * leading zero (https://cr.yp.to/proto/netstrings.txt). Decoder and encoder do no I/O.
 */

/* Bytes of payload. Less from a worker: gaspipe keeps at most ten copies of a message and must stay
 * below 300 MB. */
enum { NETSTRING_CAP_DEFAULT = 64 << 20, NETSTRING_CAP_UP = 24 << 20 };

enum netstring_result {
    NETSTRING_MORE,  /* all bytes were used, the frame is not whole yet */
    NETSTRING_FRAME, /* a frame is whole */
    NETSTRING_BAD,   /* not a netstring, over the cap, or out of memory; see the error */
};

enum netstring_state {
    NETSTRING_LENGTH,
    NETSTRING_PAYLOAD,
    NETSTRING_COMMA,
};

struct netstring_decoder {
    size_t cap; /* payloads longer than this are refused */
    enum netstring_state state;
    size_t digits;      /* of the length, seen so far */
    size_t length;      /* of the payload, as far as its digits were seen */
    struct buf partial; /* payload of a frame that came in pieces */
};

/* cap is at most SIZE_MAX / 10 - 1. */
void netstring_decoder_init(struct netstring_decoder *decoder, size_t cap);
void netstring_decoder_free(struct netstring_decoder *decoder);

/* Feeds bytes, in pieces of any size, up to the end of one frame. *used is how many were consumed;
 * after NETSTRING_FRAME feed the rest again. *payload then points into `bytes` or into the decoder,
 * and is valid until either changes. NETSTRING_BAD is permanent: the framing is lost. */
enum netstring_result netstring_decode(struct netstring_decoder *decoder, const char *bytes,
                                       size_t length, size_t *used, struct iovec *payload,
                                       struct error *error);

/*
 * The memory into which the rest of a payload can be read without a copy, after part of it was
 * fed. `rest` is the missing bytes and the comma, so that a read of that size takes nothing of the
 * next frame. False if the next bytes must be fed.
 */
bool netstring_rest(struct netstring_decoder *decoder, struct iovec *rest);

/*
 * `count` bytes, from 1 to rest->iov_len, were read there. Returns as netstring_decode(); the
 * payload is in the decoder.
 */
enum netstring_result netstring_take_rest(struct netstring_decoder *decoder, size_t length,
                                          struct iovec *payload, struct error *error);

/* True if the stream may end here, not within a frame. */
static inline bool netstring_between_frames(const struct netstring_decoder *decoder)
{
    return decoder->state == NETSTRING_LENGTH && decoder->digits == 0;
}

enum { NETSTRING_PARTS_MAX = 5 };

/* The size of a frame with a payload of this length. */
size_t netstring_size(size_t payload);

/*
 * A frame as pieces for one writev(2). A frame of up to NETSTRING_PACKED_SIZE bytes is one piece:
 * copying it costs less than several pieces.
 */
enum { NETSTRING_PACKED_SIZE = 2048 };
struct netstring_frame {
    struct iovec pieces[NETSTRING_PARTS_MAX + 2];
    int count;
    size_t size;                        /* bytes of all pieces */
    char packed[NETSTRING_PACKED_SIZE]; /* the whole frame, or its header */
};

/*
 * Makes a frame whose payload is the concatenated parts, at most NETSTRING_PARTS_MAX. The parts
 * are borrowed until the frame is written. The pieces may point into *frame, which must not move.
 */
void netstring_encode(struct netstring_frame *frame, const struct iovec *parts, int count);

#endif
