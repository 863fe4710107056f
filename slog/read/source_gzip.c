/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <isa-l/igzip_lib.h>

#include "slog/read/source_internal.h"

/* One call's output: isa-l counts in 32 bits. */
enum { LARGEST_STEP = 1 << 30 };

/*
 * isal_inflate() could read the headers, too. But with one that comes in two pieces it goes on
 * with flags that nobody has set, and takes good data for damaged as chance has it.
 */
struct gzip {
    struct inflate_state inflate; /* with its tables some 90 KB */
    struct isal_gzip_header header;
    bool in_header;
};

static void begin_header(struct gzip *gzip)
{
    isal_gzip_header_init(&gzip->header);
    gzip->in_header = true;
}

static int gzip_begin(struct source *source, struct error *error)
{
    struct gzip *gzip = malloc(sizeof *gzip);

    if (gzip == NULL)
        return error_memory(error, "decompressing");
    isal_inflate_init(&gzip->inflate);
    begin_header(gzip);
    source->state = gzip;
    return 0;
}

static const char *words_for(int code)
{
    switch (code) {
    case ISAL_INVALID_WRAPPER:
        return "no gzip header where one should be";
    case ISAL_INCORRECT_CHECKSUM:
        return "wrong checksum";
    default:
        return "no valid block";
    }
}

/* Several members can follow each other, as log rotation and `cat a.gz b.gz` leave them. */
static void next_member(struct gzip *gzip)
{
    isal_inflate_reset(&gzip->inflate);
    begin_header(gzip);
}

/* What is behind it is checked against the checksum at the end. */
static int read_header(struct gzip *gzip)
{
    int code = isal_read_gzip_header(&gzip->inflate, &gzip->header);

    if (code == ISAL_DECOMP_OK) {
        gzip->in_header = false;
        gzip->inflate.crc_flag = ISAL_GZIP_NO_HDR_VER;
    }
    return code;
}

static int inflate_some(struct source *source, struct error *error)
{
    struct gzip *gzip = source->state;
    struct inflate_state *state = &gzip->inflate;
    size_t available = source->in_end - source->in_start;
    int code = ISAL_DECOMP_OK;

    state->next_in = (uint8_t *)source->in + source->in_start;
    state->avail_in = (uint32_t)available;
    if (gzip->in_header)
        code = read_header(gzip);
    if (code == ISAL_DECOMP_OK)
        code = isal_inflate(state);
    source->in_start += available - state->avail_in;
    if (code != ISAL_DECOMP_OK && code != ISAL_END_INPUT && code != ISAL_OUT_OVERFLOW)
        return error_set(error, ERROR_INPUT, "%s: damaged gzip data: %s", source->path,
                         words_for(code));
    return 0;
}

static ssize_t gzip_read(struct source *source, char *bytes, size_t size, struct error *error)
{
    struct gzip *gzip = source->state;
    struct inflate_state *state = &gzip->inflate;

    if (size > LARGEST_STEP)
        size = LARGEST_STEP;
    state->next_out = (uint8_t *)bytes;
    state->avail_out = (uint32_t)size;
    source->cut = false;
    while (state->avail_out == size) {
        ssize_t filled = source_fill(source, error);

        if (filled < 0)
            return -1;
        if (state->block_state == ISAL_BLOCK_FINISH) {
            if (filled == 0)
                return 0;
            next_member(gzip);
        }
        if (inflate_some(source, error) != 0)
            return -1;
        /* Without input what the decoder still held has come out now. */
        if (filled == 0 && state->avail_out == size && state->block_state != ISAL_BLOCK_FINISH) {
            source->cut = true;
            return 0;
        }
    }
    return (ssize_t)(size - state->avail_out);
}

static void gzip_end(struct source *source)
{
    free(source->state);
}

const struct source_format source_gzip = {.begin = gzip_begin, .read = gzip_read, .end = gzip_end};
