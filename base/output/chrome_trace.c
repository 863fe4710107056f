/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output/chrome_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"

enum { WRITE_AT = 256 * 1024 };

int chrome_trace_open(struct chrome_trace *trace, const char *path, const char *what,
                      struct error *error)
{
    *trace = (struct chrome_trace){.file = {.fd = -1}};
    if (output_file_open(&trace->file, path, what, error) != 0)
        return -1;
    buf_append_string(&trace->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    return 0;
}

void chrome_trace_begin_event(struct chrome_trace *trace, const char *phase,
                              struct chrome_track track, const char *name)
{
    buf_printf(&trace->out,
               "%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%" PRIu32 ",\"name\":", trace->any ? "," : "",
               phase, track.process, track.number);
    json_text_string(&trace->out, name, strlen(name));
    trace->any = true;
}

/* Microseconds with three decimals, which keep the nanoseconds. */
void chrome_trace_time(struct chrome_trace *trace, const char *member, int64_t nanoseconds)
{
    buf_printf(&trace->out, ",\"%s\":%s%" PRId64 ".%03d", member, nanoseconds < 0 ? "-" : "",
               labs(nanoseconds) / 1000, (int)(labs(nanoseconds) % 1000));
}

void chrome_trace_end_event(struct chrome_trace *trace)
{
    buf_append_byte(&trace->out, '}');
}

void chrome_trace_name(struct chrome_trace *trace, struct chrome_track track, const char *what,
                       const char *name)
{
    chrome_trace_begin_event(trace, "M", track, what);
    buf_append_string(&trace->out, ",\"args\":{\"name\":");
    json_text_string(&trace->out, name, strlen(name));
    buf_append_byte(&trace->out, '}');
    chrome_trace_end_event(trace);
}

void chrome_trace_begin_span(struct chrome_trace *trace, struct chrome_track track,
                             const char *category, const char *name, int64_t from, int64_t length)
{
    chrome_trace_begin_event(trace, "B", track, name);
    buf_printf(&trace->out, ",\"cat\":\"%s\"", category);
    chrome_trace_time(trace, "ts", from);
    if (length != CHROME_TRACE_NO_LENGTH)
        chrome_trace_time(trace, "dur", length);
}

void chrome_trace_begin_span_end(struct chrome_trace *trace, struct chrome_track track,
                                 const char *name, int64_t to)
{
    chrome_trace_begin_event(trace, "E", track, name);
    chrome_trace_time(trace, "ts", to);
}

void chrome_trace_open_span(struct chrome_trace *trace, struct chrome_track track,
                            const char *category, const char *name, int64_t from, int64_t length)
{
    chrome_trace_begin_span(trace, track, category, name, from, length);
    chrome_trace_end_event(trace);
}

void chrome_trace_close_span(struct chrome_trace *trace, struct chrome_track track,
                             const char *name, int64_t to)
{
    chrome_trace_begin_span_end(trace, track, name, to);
    chrome_trace_end_event(trace);
}

int chrome_trace_write(struct chrome_trace *trace, struct error *error)
{
    if (trace->out.length < WRITE_AT && !buf_failed(&trace->out))
        return 0;
    if (output_file_write(&trace->file, &trace->out, error) == 0)
        return 0;
    trace->unwritten = true;
    return -1;
}

int chrome_trace_finish(struct chrome_trace *trace, struct error *error)
{
    if (trace->unwritten)
        return 0;
    buf_append_string(&trace->out, "\n]}\n");
    if (output_file_write(&trace->file, &trace->out, error) != 0)
        return -1;
    return output_file_finish(&trace->file, error);
}

void chrome_trace_free(struct chrome_trace *trace)
{
    output_file_discard(&trace->file);
    buf_free(&trace->out);
}
