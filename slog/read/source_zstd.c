/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include <zstd.h>

#include "slog/read/source_internal.h"

struct zstd_state {
    ZSTD_DStream *stream;
    size_t wanted; /* what the last call returned: 0 at the end of a frame */
};

static int zstd_begin(struct source *source, struct error *error)
{
    struct zstd_state *state = calloc(1, sizeof *state);

    if (state == NULL)
        return error_memory(error, "decompressing");
    state->stream = ZSTD_createDStream();
    if (state->stream == NULL) {
        free(state);
        return error_memory(error, "decompressing");
    }
    source->state = state;
    return 0;
}

static ssize_t zstd_read(struct source *source, char *bytes, size_t size, struct error *error)
{
    struct zstd_state *state = source->state;
    ZSTD_outBuffer out = {bytes, size, 0};

    source->cut = false;
    while (out.pos == 0) {
        ssize_t filled = source_fill(source, error);
        ZSTD_inBuffer in = {source->in + source->in_start, source->in_end - source->in_start, 0};

        if (filled < 0)
            return -1;
        /* Without input the stream may still hold output of the last block. */
        if (filled == 0 && state->wanted == 0)
            return 0;
        state->wanted = ZSTD_decompressStream(state->stream, &out, &in);
        if (ZSTD_isError(state->wanted))
            return error_set(error, ERROR_INPUT, "%s: damaged Zstandard data: %s", source->path,
                             ZSTD_getErrorName(state->wanted));
        source->in_start += in.pos;
        if (filled == 0 && out.pos == 0) {
            source->cut = true;
            return 0;
        }
    }
    return (ssize_t)out.pos;
}

static void zstd_end(struct source *source)
{
    struct zstd_state *state = source->state;

    ZSTD_freeDStream(state->stream);
    free(state);
}

const struct source_format source_zstd = {.begin = zstd_begin, .read = zstd_read, .end = zstd_end};
