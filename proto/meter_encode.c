/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json/json_text.h"
#include "proto/meter.h"

/*
 * A record goes with each delivery, so room is made once, for the longest that it can be,
 * and it is written without looking again.
 */
enum {
    FIXED_SIZE = 640, /* all names and numbers but those of the stamps */
    STAMP_SIZE = 2 * (JSON_TEXT_NUMBER_MAX + 1),
};

static inline char *meter_encode_put_text(char *at, const char *text)
{
    return mempcpy(at, text, strlen(text));
}

static inline char *put_field(char *at, const char *name_and_colon, uint64_t value)
{
    return json_text_put_unsigned(meter_encode_put_text(at, name_and_colon), value);
}

static char *put_stamps(char *at, const struct meter *meter)
{
    at = meter_encode_put_text(at, ",\"timestamps\":[");
    for (size_t i = 0; i < meter->stamp_count; i++) {
        if (i > 0)
            *at++ = ',';
        at = json_text_put_seconds(at, meter->stamps[i].real);
    }
    *at++ = ']';
    /* A record of xsnap-worker's, which is written again into a slogfile, has none. */
    if (meter->stamp_count > 0 && meter->stamps[meter->stamp_count - 1].mono == 0)
        return at;
    at = meter_encode_put_text(at, ",\"monotimes\":[");
    for (size_t i = 0; i < meter->stamp_count; i++) {
        if (i > 0)
            *at++ = ',';
        at = json_text_put_integer(at, meter->stamps[i].mono);
    }
    *at++ = ']';
    return at;
}

static char *put_cpu(char *at, const struct meter_cpu *cpu)
{
    at = put_field(at, ",\"cpu\":{\"user\":", (uint64_t)cpu->user);
    at = put_field(at, ",\"sys\":", (uint64_t)cpu->system);
    at = put_field(at, ",\"nvcsw\":", (uint64_t)cpu->waits);
    at = put_field(at, ",\"nivcsw\":", (uint64_t)cpu->preempt);
    at = put_field(at, ",\"majflt\":", (uint64_t)cpu->faults);
    *at++ = '}';
    return at;
}

void meter_encode(struct buf *buf, const struct meter *meter)
{
    char *at;

    if (buf_reserve(buf, FIXED_SIZE + meter->stamp_count * STAMP_SIZE + meter->profile.iov_len +
                             meter->gas_profile.iov_len) != 0)
        return;
    at = buf->data + buf->length;
    at = put_field(at, "{\"currentHeapCount\":", meter->heap_count);
    at = put_field(at, ",\"compute\":", meter->compute);
    at = put_field(at, ",\"allocate\":", meter->allocate);
    at = put_stamps(at, meter);
    if (meter->counted) {
        at = put_field(at, ",\"instructions\":", meter->instructions);
        at = put_field(at, ",\"bytesRead\":", meter->bytes_read);
        at = put_field(at, ",\"bytesWritten\":", meter->bytes_written);
    }
    if (meter->cost_known)
        at = put_field(at, ",\"blockCost\":", meter->block_cost);
    if (meter->gas_known)
        at = put_field(at, ",\"gasBurnt\":", meter->gas_burnt);
    if (meter->refund_known)
        at = put_field(at, ",\"gasRefunded\":", meter->gas_refunded);
    if (meter->gas_profile.iov_len > 0)
        at = mempcpy(meter_encode_put_text(at, ",\"gasProfile\":"), meter->gas_profile.iov_base,
                     meter->gas_profile.iov_len);
    if (meter->cpu_known)
        at = put_cpu(at, &meter->cpu);
    if (meter->profile.iov_len > 0)
        at = mempcpy(meter_encode_put_text(at, ",\"profile\":"), meter->profile.iov_base,
                     meter->profile.iov_len);
    *at++ = '}';
    buf->length = (size_t)(at - buf->data);
}
