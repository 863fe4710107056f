/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/read/codec.h"

#include <stdlib.h>

#include <zstd.h>

struct zstd {
    ZSTD_DStream *stream;
    size_t wanted; /* what the last call returned: 0 at the end of a frame */
};

static void *zstd_begin(void)
{
    struct zstd *zstd = calloc(1, sizeof *zstd);

    if (zstd == NULL)
        return NULL;
    zstd->stream = ZSTD_createDStream();
    if (zstd->stream != NULL)
        return zstd;
    free(zstd);
    return NULL;
}

static ssize_t zstd_decode(void *state, struct codec_input *input, char *bytes, size_t size,
                           const char **problem)
{
    struct zstd *zstd = state;
    ZSTD_outBuffer out = {bytes, size, 0};
    ZSTD_inBuffer in = {input->at, input->length, 0};

    /* Without input the stream may still hold output of the last block. */
    if (input->length == 0 && zstd->wanted == 0)
        return 0;
    zstd->wanted = ZSTD_decompressStream(zstd->stream, &out, &in);
    if (ZSTD_isError(zstd->wanted)) {
        *problem = ZSTD_getErrorName(zstd->wanted);
        return -1;
    }
    input->at += in.pos;
    input->length -= in.pos;
    return (ssize_t)out.pos;
}

static bool zstd_is_inside(const void *state)
{
    return ((const struct zstd *)state)->wanted != 0;
}

static void zstd_end(void *state)
{
    struct zstd *zstd = state;

    ZSTD_freeDStream(zstd->stream);
    free(zstd);
}

const struct codec codec_zstd = {
    .name = "Zstandard",
    .magic = "\x28\xb5\x2f\xfd",
    .magic_length = 4,
    .begin = zstd_begin,
    .end = zstd_end,
    .decode = zstd_decode,
    .is_inside = zstd_is_inside,
};
