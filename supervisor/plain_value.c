/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/plain_value.h"

#include <stdlib.h>

#include "supervisor/smallcaps.h"

static int put(struct buf *json, const json_t *value, struct error *error)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

    buf_clear(json);
    if (text != NULL)
        buf_append_string(json, text);
    free(text);
    return text != NULL && !buf_failed(json) ? 0 : error_memory(error, "a result");
}

int plain_value_keep(struct buf *json, const json_t *capdata, struct error *error)
{
    return put(json, capdata, error);
}

int plain_value_show(const struct buf *json, struct buf *shown, struct error *error)
{
    json_t *capdata = json_loadb(json->data, json->length, JSON_ALLOW_NUL, NULL);
    const char *body = json_string_value(json_object_get(capdata, "body"));
    json_t *value = NULL, *decoded = NULL;
    int result;

    if (body != NULL && body[0] == '#')
        value = json_loads(body + 1, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
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
