/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_OUTPUT_RENDER_H
#define GASPIPE_TOOLS_OUTPUT_RENDER_H

#include "base/buf.h"
#include "slog/model/model.h"
#include "tools/input/feed.h"

/*
 * One output format: each function appends to `out`, whose failure the caller
 * looks at. Those that a format does not need are NULL.
 */
struct render_ops {
    void (*begin)(struct buf *out);
    void (*delivery)(struct buf *out, const struct model_delivery *delivery);
    void (*note)(struct buf *out, const struct model_note *note);
    void (*inbound)(struct buf *out, const struct model_inbound *inbound);
    void (*phase)(struct buf *out, const struct phase_span *span);
    void (*block)(struct buf *out, const struct phase_block *block);
    void (*end)(struct buf *out, const struct tally *tally, uint64_t deliveries);
    bool labels; /* wants model_event.label */
};

extern const struct render_ops render_text;        /* for people, delivery by delivery */
extern const struct render_ops render_json;        /* one JSON object a line */
extern const struct render_ops render_json_causes; /* the same with what caused each */
extern const struct render_ops render_csv;         /* RFC 4180, one row a delivery */
extern const struct render_ops render_csv_priced;  /* the same with its gas */

#endif
