/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PING_PING_OUTPUT_H
#define GASPIPE_SUPERVISOR_PING_PING_OUTPUT_H

#include "base/buf.h"
#include "supervisor/ping/ping_options.h"
#include "supervisor/ping/ping_peer.h"
#include "supervisor/ping/ping_samples.h"

/* All that was measured of one size; the samples are sorted. */
struct ping_report {
    const struct ping_options *options;
    const struct placement *placement;
    size_t size;
    size_t to, fro; /* bytes of a frame in each direction */
    const struct ping_trips *trips;
    const struct ping_samples *baseline;
};

/* Each appends a report: what people read, or one line of JSON. */
void ping_output_text(struct buf *out, const struct ping_report *report);
void ping_output_json(struct buf *out, const struct ping_report *report);

#endif
