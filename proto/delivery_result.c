/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/delivery_result.h"

#include <string.h>

#include "base/json/json_value.h"

/* What npm @agoric/xsnap 0.15.0 calls its meter. */
#define METER_TYPE "xs-meter-36"

/* Without the profile, which has files of its own. */
static void encode_meter(struct buf *dr, const struct meter *meter)
{
    struct meter plain = *meter;

    plain.profile = (struct iovec){0};
    meter_encode(dr, &plain);
}

static void put_meter(struct buf *dr, const struct meter *meter)
{
    size_t start;

    buf_append_string(dr, "{\"meterType\":\"" METER_TYPE "\",");
    if (meter->text.iov_len > 0) {
        buf_append(dr, (char *)meter->text.iov_base + 1, meter->text.iov_len - 1);
        return;
    }
    start = dr->length;
    encode_meter(dr, meter);
    /* The record without its opening brace. */
    if (buf_failed(dr))
        return;
    memmove(dr->data + start, dr->data + start + 1, dr->length - start - 1);
    dr->length--;
}

void delivery_result_put(struct buf *dr, const char *problem, const char *value,
                         const struct meter *meter)
{
    if (problem == NULL) {
        buf_printf(dr, "[\"ok\",%s,", value != NULL ? value : "null");
    } else {
        buf_append_string(dr, "[\"error\",");
        json_value_write_string(dr, problem, strlen(problem));
        buf_append_byte(dr, ',');
    }
    if (meter == NULL)
        buf_append_string(dr, "null");
    else
        put_meter(dr, meter);
    buf_append_byte(dr, ']');
}
