/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_OUTPUT_PACKER_H
#define GASPIPE_BASE_OUTPUT_PACKER_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

/* Compresses a stream of bytes as Zstandard (RFC 8878), without checksums. */
struct packer;

enum packer_end {
    PACKER_GOES_ON, /* more comes; not all that was given has to come out yet */
    PACKER_FLUSH,   /* all that was given can be read from what has come out */
    PACKER_FINISH,  /* the same, and the frame ends; what is given after it begins another */
};

/* NULL when memory ran out. */
struct packer *packer_new(struct error *error);

/* Appends what comes out. -1 with ERROR_SYSTEM when memory ran out: the stream is broken then. */
int packer_add(struct packer *packer, const void *bytes, size_t length, enum packer_end end,
               struct buf *packed, struct error *error);

/* NULL is allowed. */
void packer_free(struct packer *packer);

#endif
