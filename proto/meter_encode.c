/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_text.h"
#include "proto/meter.h"

static void append_field(struct buf *buf, const char *name_and_colon, uint64_t value)
{
    buf_append_string(buf, name_and_colon);
    json_text_unsigned(buf, value);
}

static void append_stamps(struct buf *buf, const struct meter *meter)
{
    buf_append_string(buf, ",\"timestamps\":[");
    for (size_t i = 0; i < meter->stamp_count; i++) {
        if (i > 0)
            buf_append_byte(buf, ',');
        json_text_seconds(buf, meter->stamps[i].real);
    }
    buf_append_string(buf, "],\"monotimes\":[");
    for (size_t i = 0; i < meter->stamp_count; i++) {
        if (i > 0)
            buf_append_byte(buf, ',');
        json_text_integer(buf, meter->stamps[i].mono);
    }
    buf_append_byte(buf, ']');
}

static void append_cpu(struct buf *buf, const struct meter_cpu *cpu)
{
    append_field(buf, ",\"cpu\":{\"user\":", (uint64_t)cpu->user);
    append_field(buf, ",\"sys\":", (uint64_t)cpu->system);
    append_field(buf, ",\"nvcsw\":", (uint64_t)cpu->waits);
    append_field(buf, ",\"nivcsw\":", (uint64_t)cpu->preempt);
    append_field(buf, ",\"majflt\":", (uint64_t)cpu->faults);
    buf_append_byte(buf, '}');
}

void meter_encode(struct buf *buf, const struct meter *meter)
{
    append_field(buf, "{\"currentHeapCount\":", meter->heap_count);
    append_field(buf, ",\"compute\":", meter->compute);
    append_field(buf, ",\"allocate\":", meter->allocate);
    append_stamps(buf, meter);
    if (meter->counted) {
        append_field(buf, ",\"instructions\":", meter->instructions);
        append_field(buf, ",\"bytesRead\":", meter->bytes_read);
        append_field(buf, ",\"bytesWritten\":", meter->bytes_written);
    }
    if (meter->cpu_known)
        append_cpu(buf, &meter->cpu);
    buf_append_byte(buf, '}');
}
