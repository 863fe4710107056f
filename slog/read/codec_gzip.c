/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/read/codec.h"

#include <stdint.h>
#include <stdlib.h>

#include <isa-l/igzip_lib.h>

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

static void *gzip_begin(void)
{
    struct gzip *gzip = malloc(sizeof *gzip);

    if (gzip == NULL)
        return NULL;
    isal_inflate_init(&gzip->inflate);
    begin_header(gzip);
    return gzip;
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

static int inflate_some(struct gzip *gzip, struct codec_input *input)
{
    struct inflate_state *inflate = &gzip->inflate;
    size_t step = input->length < LARGEST_STEP ? input->length : LARGEST_STEP;
    int code = ISAL_DECOMP_OK;

    inflate->next_in = (uint8_t *)(uintptr_t)input->at;
    inflate->avail_in = (uint32_t)step;
    if (gzip->in_header)
        code = read_header(gzip);
    if (code == ISAL_DECOMP_OK)
        code = isal_inflate(inflate);
    /* Asked again after damage, isa-l may go beyond its input. */
    if (inflate->avail_in > step)
        return ISAL_INVALID_BLOCK;
    input->at += step - inflate->avail_in;
    input->length -= step - inflate->avail_in;
    return code;
}

static bool gzip_is_inside(const void *state)
{
    return ((const struct gzip *)state)->inflate.block_state != ISAL_BLOCK_FINISH;
}

static ssize_t gzip_decode(void *state, struct codec_input *input, char *bytes, size_t size,
                           const char **problem)
{
    struct gzip *gzip = state;
    uint32_t step = size < LARGEST_STEP ? (uint32_t)size : LARGEST_STEP;
    int code;

    if (!gzip_is_inside(gzip)) {
        if (input->length == 0)
            return 0;
        next_member(gzip);
    }
    gzip->inflate.next_out = (uint8_t *)bytes;
    gzip->inflate.avail_out = step;
    code = inflate_some(gzip, input);
    if (code != ISAL_DECOMP_OK && code != ISAL_END_INPUT && code != ISAL_OUT_OVERFLOW) {
        *problem = words_for(code);
        return -1;
    }
    return (ssize_t)(step - gzip->inflate.avail_out);
}

static void gzip_end(void *state)
{
    free(state);
}

const struct codec codec_gzip = {
    .name = "gzip",
    .magic = "\x1f\x8b",
    .magic_length = 2,
    .begin = gzip_begin,
    .end = gzip_end,
    .decode = gzip_decode,
    .is_inside = gzip_is_inside,
};
