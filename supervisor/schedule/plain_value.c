/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/plain_value.h"

#include "base/json/json_value.h"
#include "supervisor/schedule/smallcaps.h"

static int put(struct buf *json, const json_t *value, struct error *error)
{
    buf_clear(json);
    return json_value_write(json, value) == 0 ? 0 : error_memory(error, "a result");
}

int plain_value_keep(struct buf *json, const json_t *capdata, struct error *error)
{
    return put(json, capdata, error);
}

int plain_value_show(const struct buf *json, struct buf *shown, struct error *error)
{
    json_t *capdata = json_value_read(json->data, json->length, JSON_ALLOW_NUL, NULL);
    const json_t *body = json_object_get(capdata, "body");
    const char *bytes = json_string_value(body);
    json_t *value = NULL, *decoded = NULL;
    int result;

    if (bytes != NULL && bytes[0] == '#')
        value = json_value_read_inner(bytes + 1, json_string_length(body) - 1,
                                      JSON_DECODE_ANY | JSON_ALLOW_NUL);
    if (value != NULL)
        decoded = smallcaps_decode(value);
    if (decoded != NULL) {
        result = put(shown, decoded, error);
    } else {
        buf_clear(shown);
        buf_append(shown, json->data, json->length);
        result = buf_failed(shown) ? error_memory(error, "a result") : 0;
    }
    json_decref(decoded);
    json_decref(value);
    json_decref(capdata);
    return result;
}
