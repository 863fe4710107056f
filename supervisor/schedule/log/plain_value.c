/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/log/plain_value.h"

#include "base/json/json_nodes.h"
#include "base/json/json_value.h"
#include "supervisor/schedule/log/smallcaps.h"

/* New; NULL where it is not smallcaps, or takes too much memory. */
static json_t *decode_body(const json_t *body)
{
    const char *bytes = json_string_value(body);
    json_t *value, *decoded = NULL;

    if (bytes == NULL || bytes[0] != '#' ||
        json_nodes_exceed(bytes, json_string_length(body),
                          json_nodes_affordable(json_string_length(body))))
        return NULL;
    value = json_value_read_inner(bytes + 1, json_string_length(body) - 1,
                                  JSON_DECODE_ANY | JSON_ALLOW_NUL);
    if (value != NULL)
        decoded = smallcaps_decode(value);
    json_decref(value);
    return decoded;
}

int plain_value_write(struct buf *json, const json_t *capdata, struct error *error)
{
    json_t *decoded = decode_body(json_object_get(capdata, "body"));
    int result;

    buf_clear(json);
    result = json_value_write(json, decoded != NULL ? decoded : capdata);
    json_decref(decoded);
    return result == 0 ? 0 : error_memory(error, "a result");
}
