/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output/output.h"

#include <errno.h>
#include <unistd.h>

#include "base/visible.h"

enum { FLUSH_AT = 64 * 1024 };

int output_flush(struct buf *out, struct error *error)
{
    if (buf_failed(out))
        return error_memory(error, "the report");
    if (visible_write(STDOUT_FILENO, out->data, out->length) != 0)
        return error_system(error, errno, "cannot write the report");
    buf_clear(out);
    return 0;
}

int output_flush_if_much(struct buf *out, struct error *error)
{
    return out->length < FLUSH_AT && !buf_failed(out) ? 0 : output_flush(out, error);
}
