/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/report/perfetto_packet.h"

#include <string.h>

#include "trace/events/event_code.h"

/* Fields, as Perfetto's protos number them. */
enum {
    TRACE_PACKET = 1,
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TIMESTAMP_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK_DESCRIPTOR = 60,
    SNAPSHOT_CLOCKS = 1,
    SNAPSHOT_PRIMARY_CLOCK = 2,
    CLOCK_ID = 1,
    CLOCK_TIMESTAMP = 2,
    CLOCK_IS_INCREMENTAL = 3,
    DEFAULTS_TRACK_EVENT = 11,
    DESCRIPTOR_TRACK = 1,
    DESCRIPTOR_NAME = 2,
    DESCRIPTOR_THREAD = 4,
    THREAD_PROCESS = 1,
    THREAD_ID = 2,
    THREAD_NAME = 5,
    EVENT_TYPE = 9,
    EVENT_NAME_NUMBER = 10,
    EVENT_TRACK = 11,
    INTERNED_EVENT_NAMES = 2,
    NAME_NUMBER = 1,
    NAME_TEXT = 2,
};

enum { SLICE_BEGIN = 1, SLICE_END = 2 };
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 };

/* The sequence's own clock; numbers from 64 on are free for that. */
enum { MONOTONIC_CLOCK = 3, OWN_CLOCK = 64 };

enum { WIRE_NUMBER = 0, WIRE_BYTES = 2 };

static void perfetto_packet_put_number(struct buf *out, unsigned field, uint64_t number)
{
    event_code_put(out, field << 3 | WIRE_NUMBER);
    event_code_put(out, number);
}

static void put_bytes(struct buf *out, unsigned field, const void *bytes, size_t length)
{
    event_code_put(out, field << 3 | WIRE_BYTES);
    event_code_put(out, length);
    buf_append(out, bytes, length);
}

/* The message is empty afterwards. */
static void put_message(struct buf *out, unsigned field, struct buf *message)
{
    if (buf_failed(message))
        out->failed = true;
    else
        put_bytes(out, field, message->data, message->length);
    buf_free(message);
}

static void put_clock(struct buf *snapshot, unsigned id, int64_t time)
{
    struct buf clock = {0};

    perfetto_packet_put_number(&clock, CLOCK_ID, id);
    perfetto_packet_put_number(&clock, CLOCK_TIMESTAMP, (uint64_t)time);
    if (id == OWN_CLOCK)
        perfetto_packet_put_number(&clock, CLOCK_IS_INCREMENTAL, 1);
    put_message(snapshot, SNAPSHOT_CLOCKS, &clock);
}

static void put_descriptor(struct buf *packet, const struct perfetto_track *track)
{
    struct buf descriptor = {0}, thread = {0};

    perfetto_packet_put_number(&descriptor, DESCRIPTOR_TRACK, track->sequence);
    if (track->process == 0) {
        put_bytes(&descriptor, DESCRIPTOR_NAME, track->name, strlen(track->name));
    } else {
        perfetto_packet_put_number(&thread, THREAD_PROCESS, track->process);
        perfetto_packet_put_number(&thread, THREAD_ID, track->thread);
        put_bytes(&thread, THREAD_NAME, track->name, strlen(track->name));
        put_message(&descriptor, DESCRIPTOR_THREAD, &thread);
    }
    put_message(packet, PACKET_TRACK_DESCRIPTOR, &descriptor);
}

static void put_defaults(struct buf *packet, uint32_t sequence)
{
    struct buf defaults = {0}, event = {0};

    perfetto_packet_put_number(&defaults, PACKET_TIMESTAMP_CLOCK, OWN_CLOCK);
    perfetto_packet_put_number(&event, EVENT_TRACK, sequence);
    put_message(&defaults, DEFAULTS_TRACK_EVENT, &event);
    put_message(packet, PACKET_DEFAULTS, &defaults);
}

void perfetto_packet_track(struct buf *out, const struct perfetto_track *track)
{
    struct buf packet = {0}, snapshot = {0};

    put_clock(&snapshot, MONOTONIC_CLOCK, track->start);
    put_clock(&snapshot, OWN_CLOCK, track->start);
    perfetto_packet_put_number(&snapshot, SNAPSHOT_PRIMARY_CLOCK, MONOTONIC_CLOCK);
    perfetto_packet_put_number(&packet, PACKET_SEQUENCE, track->sequence);
    perfetto_packet_put_number(&packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
    put_message(&packet, PACKET_CLOCK_SNAPSHOT, &snapshot);
    put_defaults(&packet, track->sequence);
    put_message(out, TRACE_PACKET, &packet);
    perfetto_packet_put_number(&packet, PACKET_SEQUENCE, track->sequence);
    put_descriptor(&packet, track);
    put_message(out, TRACE_PACKET, &packet);
}

static void perfetto_packet_put_name(struct buf *packet, uint32_t number, const char *name)
{
    struct buf data = {0}, entry = {0};

    perfetto_packet_put_number(&entry, NAME_NUMBER, number);
    put_bytes(&entry, NAME_TEXT, name, strlen(name));
    put_message(&data, INTERNED_EVENT_NAMES, &entry);
    put_message(packet, PACKET_INTERNED_DATA, &data);
}

/* `number` 0: an end, which has no name. */
static void put_event(struct buf *out, uint32_t sequence, uint64_t after, uint32_t number,
                      const char *name)
{
    struct buf packet = {0}, event = {0};

    perfetto_packet_put_number(&packet, PACKET_TIMESTAMP, after);
    perfetto_packet_put_number(&packet, PACKET_SEQUENCE, sequence);
    perfetto_packet_put_number(&packet, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
    if (name != NULL)
        perfetto_packet_put_name(&packet, number, name);
    perfetto_packet_put_number(&event, EVENT_TYPE, number != 0 ? SLICE_BEGIN : SLICE_END);
    if (number != 0)
        perfetto_packet_put_number(&event, EVENT_NAME_NUMBER, number);
    put_message(&packet, PACKET_TRACK_EVENT, &event);
    put_message(out, TRACE_PACKET, &packet);
}

void perfetto_packet_begin(struct buf *out, uint32_t sequence, uint64_t after, uint32_t number,
                           const char *name)
{
    put_event(out, sequence, after, number, name);
}

void perfetto_packet_end(struct buf *out, uint32_t sequence, uint64_t after)
{
    put_event(out, sequence, after, 0, NULL);
}
