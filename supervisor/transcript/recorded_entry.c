/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/transcript/recorded_entry.h"

#include <inttypes.h>

static void put_span(struct buf *out, const char *before, struct scan_span span, const char *after)
{
    if (span.at == NULL)
        return;
    buf_append_string(out, before);
    buf_append(out, span.at, span.length);
    buf_append_string(out, after);
}

static void recorded_entry_put_number(struct buf *out, const char *name, int64_t number,
                                      const char *after)
{
    if (number != RECORDED_NONE)
        buf_printf(out, "\"%s\":%" PRId64 "%s", name, number, after);
}

/* Each member ends with a comma, but for the last, which is always there. */
static void put_result(struct buf *out, const struct recorded_result *result,
                       struct scan_span fingerprint)
{
    const bool metered = result->compute != RECORDED_NONE || result->allocate != RECORDED_NONE;

    buf_append_string(out, "{");
    put_span(out, "\"status\":\"", result->status, "\",");
    put_span(out, "\"problem\":", result->problem, ",");
    if (metered) {
        buf_append_string(out, "\"metering\":{");
        recorded_entry_put_number(out, "computrons", result->compute,
                                  result->allocate != RECORDED_NONE ? "," : "");
        recorded_entry_put_number(out, "allocate", result->allocate, "");
        buf_append_string(out, "},");
    }
    recorded_entry_put_number(out, "instructions", result->instructions, ",");
    put_span(out, "\"fingerprint\":\"",
             result->fingerprint.at != NULL ? result->fingerprint : fingerprint, "\",");
    buf_printf(out, "\"limited\":%s}", result->limited ? "true" : "false");
}

void recorded_entry_put(struct buf *out, const struct recorded_delivery *recorded,
                        const struct recorded_entry *entry)
{
    buf_append_string(out, "{");
    recorded_entry_put_number(out, "deliveryNum", entry->delivery_num, ",");
    if (entry->replay)
        buf_append_string(out, "\"replay\":true,");
    put_span(out, "\"d\":", recorded->delivery, ",\"sc\":[");
    for (size_t i = 0; i < recorded->syscall_count; i++) {
        put_span(out, i > 0 ? ",{\"s\":" : "{\"s\":", recorded->syscalls[i].made, ",\"r\":");
        put_span(out, "", recorded->syscalls[i].answer, "}");
    }
    buf_append_string(out, "],\"r\":");
    put_result(out, &recorded->result, entry->fingerprint);
    buf_append_string(out, "}\n");
}
