/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TRACE_REPORT_PERFETTO_PACKET_H
#define GASPIPE_TRACE_REPORT_PERFETTO_PACKET_H

#include <stdint.h>

#include "base/buf.h"

/*
 * TracePackets of Perfetto (protos/perfetto/trace/trace_packet.proto), which a trace is a
 * sequence of. Each function appends one packet; failure of memory stays in the buffer. A
 * sequence is one writer's packets: names are interned in it, and times count on from the packet
 * before.
 */

/* Begins a sequence: all its slices lie on the track, whose times count on from `start`,
 * nanoseconds of CLOCK_MONOTONIC. */
struct perfetto_track {
    uint32_t sequence; /* from 1; also the track's own number */
    uint32_t process;  /* 0: no process's */
    uint32_t thread;
    const char *name;
    int64_t start;
};
void perfetto_packet_track(struct buf *out, const struct perfetto_track *track);

/* A slice begins, `after` nanoseconds behind the packet before. `name` NULL: the number has one. */
void perfetto_packet_begin(struct buf *out, uint32_t sequence, uint64_t after, uint32_t number,
                           const char *name);

/* The slice that began last, and did not end, ends. */
void perfetto_packet_end(struct buf *out, uint32_t sequence, uint64_t after);

#endif
