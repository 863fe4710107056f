/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OUTPUT_PACKER_H
#define GASPIPE_BASE_OUTPUT_PACKER_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

/* Compresses a stream of bytes as Zstandard (RFC 8878), without checksums. */
struct packer;

enum packer_end {
    PACKER_GOES_ON, /* more input follows; output may be delayed */
    PACKER_FLUSH,   /* all input can be read from the output so far */
    PACKER_FINISH,  /* the same, and ends the frame; later input begins another */
};

/* Returns NULL if out of memory. */
struct packer *packer_new(struct error *error);

/* Appends the output. -1 with ERROR_SYSTEM when out of memory: the stream is then broken. */
int packer_add(struct packer *packer, const void *bytes, size_t length, enum packer_end end,
               struct buf *packed, struct error *error);

/* NULL is allowed. */
void packer_free(struct packer *packer);

#endif
