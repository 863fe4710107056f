/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OUTPUT_OUTPUT_H
#define GASPIPE_TOOLS_OUTPUT_OUTPUT_H

#include "base/buf.h"
#include "base/error.h"

/*
 * Standard output by way of a buffer, which is empty after a success. -1 with
 * ERROR_SYSTEM when it cannot be written, or when the buffer had failed.
 */
int output_flush(struct buf *out, struct error *error);

/* The same once some tens of kilobytes have gathered. */
int output_flush_if_much(struct buf *out, struct error *error);

#endif
