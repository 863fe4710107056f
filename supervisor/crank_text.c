/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "slog/describe.h"
#include "supervisor/crank_parts.h"

void crank_put_text(struct buf *buf, const char *text)
{
    json_text_string(buf, text, strlen(text));
}

int crank_put_json(struct buf *buf, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    int result = -1;

    if (text != NULL)
        result = buf_append_string(buf, text);
    else
        buf->failed = true;
    free(text);
    return result;
}

static void put_start_texts(struct crank *crank)
{
    static const char parameters[] = "{\"body\":\"#{}\",\"slots\":[]}";

    buf_printf(&crank->vd, "[\"startVat\",%s]", parameters);
    buf_printf(&crank->kd, "[\"startVat\",%s]", parameters);
    buf_printf(&crank->message, "{\"type\":\"startVat\",\"vatID\":\"%s\",\"vatParameters\":%s}",
               crank->vat_id_text, parameters);
}

/* {"methargs":...,"result":"PROMISE"} with a promise of the given kind, or null. */
static void put_message(struct buf *buf, const struct buf *methargs, const char *prefix,
                        int64_t number, bool wants_result)
{
    buf_append_string(buf, "{\"methargs\":");
    buf_append(buf, methargs->data, methargs->length);
    if (wants_result)
        buf_printf(buf, ",\"result\":\"%s%" PRId64 "\"}", prefix, number);
    else
        buf_append_string(buf, ",\"result\":null}");
}

static void put_message_texts(struct crank *crank, const struct delivery_line *line)
{
    const struct buf *methargs = &crank->scratch;
    int64_t kernel_promise = CRANK_FIRST_PROMISE + crank->crank_num;
    int64_t vat_promise = CRANK_FIRST_PROMISE + crank->common.delivery_num;

    buf_clear(&crank->scratch);
    crank_put_json(&crank->scratch, line->methargs);
    snprintf(crank->result_promise, sizeof crank->result_promise, "p-%" PRId64, vat_promise);

    buf_append_string(&crank->vd, "[\"message\",");
    crank_put_text(&crank->vd, line->target);
    buf_append_byte(&crank->vd, ',');
    put_message(&crank->vd, methargs, "p-", vat_promise, line->wants_result);
    buf_append_byte(&crank->vd, ']');

    buf_printf(&crank->kd, "[\"message\",\"ko%" PRId64 "\",", CRANK_FIRST_OBJECT + crank->vat_id);
    put_message(&crank->kd, methargs, "kp", kernel_promise, line->wants_result);
    buf_append_byte(&crank->kd, ']');

    buf_printf(&crank->message, "{\"type\":\"send\",\"target\":\"ko%" PRId64 "\",\"msg\":",
               CRANK_FIRST_OBJECT + crank->vat_id);
    put_message(&crank->message, methargs, "kp", kernel_promise, line->wants_result);
    buf_append_byte(&crank->message, '}');
}

static void put_description(struct crank *crank)
{
    struct scan_span vd;

    /* The scanner reads whole blocks, beyond the text's end. */
    if (buf_reserve(&crank->vd, SCAN_PADDING) != 0)
        return;
    vd = (struct scan_span){crank->vd.data, crank->vd.length};
    describe_delivery(vd, &crank->description);
    if (strcmp(crank->common.dispatch, "message") == 0) {
        struct scan_cursor cursor;
        struct scan_span element = {0};

        scan_open(vd, '[', &cursor);
        for (int i = 0; i < 3; i++)
            scan_element(&cursor, &element);
        describe_method(element, &crank->method);
    } else {
        buf_append_string(&crank->method, crank->common.dispatch);
    }
}

int crank_make_texts(struct crank *crank, const struct delivery_line *line, struct error *error)
{
    crank->wants_result = line != NULL && line->wants_result;
    if (line == NULL)
        put_start_texts(crank);
    else
        put_message_texts(crank, line);
    put_description(crank);
    if (buf_failed(&crank->vd) || buf_failed(&crank->kd) || buf_failed(&crank->message) ||
        buf_failed(&crank->scratch) || buf_string(&crank->description) == NULL ||
        buf_string(&crank->method) == NULL)
        return error_memory(error, "a delivery");
    return 0;
}
