/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otlp/otlp_span.h"

#include <inttypes.h>
#include <string.h>

#include "base/json/json_text.h"
#include "slog/model/digest.h"

/* StatusCode of trace.proto. */
enum { STATUS_ERROR = 2 };

uint64_t otlp_id(uint64_t digest)
{
    return digest != 0 ? digest : 1;
}

uint64_t otlp_child_id(uint64_t parent, const char *role, uint64_t number)
{
    uint64_t digest = digest_add(DIGEST_START, (const char *)&parent, sizeof parent);

    digest = digest_add(digest, role, strlen(role));
    return otlp_id(digest_add(digest, (const char *)&number, sizeof number));
}

static void append_context(struct buf *out, const struct otlp_context *context)
{
    buf_printf(out, "{\"traceId\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanId\":\"%016" PRIx64 "\"",
               context->trace[0], context->trace[1], context->span);
}

static void append_links(struct buf *out, const struct otlp_span *span)
{
    for (size_t i = 0; i < span->link_count; i++) {
        buf_append_string(out, i == 0 ? ",\"links\":[" : ",");
        append_context(out, &span->links[i]);
        buf_append_byte(out, '}');
    }
    if (span->link_count > 0)
        buf_append_byte(out, ']');
}

void otlp_span_begin(struct buf *out, const struct otlp_span *span)
{
    append_context(out, &span->context);
    if (span->parent != 0)
        buf_printf(out, ",\"parentSpanId\":\"%016" PRIx64 "\"", span->parent);
    buf_append_string(out, ",\"name\":");
    json_text_string(out, span->name, strlen(span->name));
    buf_printf(out,
               ",\"kind\":%d,\"startTimeUnixNano\":\"%" PRId64 "\",\"endTimeUnixNano\":\"%" PRId64
               "\"",
               (int)span->kind, span->from, span->to);
    append_links(out, span);
    if (span->problem != NULL) {
        buf_printf(out, ",\"status\":{\"code\":%d,\"message\":", STATUS_ERROR);
        json_text_string(out, span->problem, strlen(span->problem));
        buf_append_byte(out, '}');
    }
    buf_append_string(out, ",\"attributes\":[");
}

static void begin_attribute(struct buf *out, const char *key, const char *type)
{
    bool first = buf_failed(out) || out->data[out->length - 1] == '[';

    buf_printf(out, "%s{\"key\":\"%s\",\"value\":{\"%s\":", first ? "" : ",", key, type);
}

void otlp_attribute_text(struct buf *out, const char *key, const char *text)
{
    begin_attribute(out, key, "stringValue");
    json_text_string(out, text, strlen(text));
    buf_append(out, "}}", 2);
}

void otlp_attribute_integer(struct buf *out, const char *key, int64_t number)
{
    begin_attribute(out, key, "intValue");
    buf_printf(out, "\"%" PRId64 "\"}}", number);
}

void otlp_attribute_double(struct buf *out, const char *key, double number)
{
    begin_attribute(out, key, "doubleValue");
    buf_printf(out, "%.17g}}", number);
}

void otlp_attribute_bool(struct buf *out, const char *key, bool truth)
{
    begin_attribute(out, key, "boolValue");
    buf_printf(out, "%s}}", truth ? "true" : "false");
}

void otlp_span_end(struct buf *out)
{
    buf_append(out, "]}", 2);
}
