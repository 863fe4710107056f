/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"
#include "trace/report/trace_report.h"

const char *trace_report_name(const struct trace_report *report, uint32_t number)
{
    if (number >= CALL_TREE_GROUPS) {
        const uint32_t group = number - CALL_TREE_GROUPS;

        return group < report->delivery_count ? report->deliveries[group].name : "?";
    }
    if (number == 0 || number > report->function_count || report->functions == NULL)
        return "?";
    return report->functions[number - 1].name;
}

const struct traced_function *trace_report_function(const struct trace_report *report,
                                                    uint32_t number)
{
    return number >= 1 && number <= report->function_count && report->functions != NULL
               ? &report->functions[number - 1]
               : NULL;
}

/* Where it stands: the source, or for one without a symbol the file that has its address. */
static void put_where(struct buf *out, const struct traced_function *function)
{
    const char *module;

    if (function == NULL)
        return;
    if (function->source != NULL)
        buf_printf(out, " (%s:%d)", function->source, function->line);
    if (strncmp(function->name, "0x", 2) != 0)
        return;
    module = strrchr(function->module, '/');
    buf_printf(out, " in %s", module != NULL ? module + 1 : function->module);
    if (function->build_id[0] != '\0')
        buf_printf(out, ", build-id %s", function->build_id);
}

/* What the clock counts, or NULL: it is time. */
static const char *unit_of(const struct trace_report *report)
{
    return report->clock.kind != TRACE_CLOCK_TSC ? trace_clock_names[report->clock.kind] : NULL;
}

static double microseconds(const struct trace_report *report, uint64_t ticks)
{
    return trace_clock_duration(&report->clock, ticks) / 1e3;
}

static void put_row(struct buf *out, const struct trace_report *report, const struct call_sum *sum,
                    uint64_t whole)
{
    const bool counted = unit_of(report) != NULL;
    const double self = counted ? (double)sum->self : microseconds(report, sum->self);
    const double total = counted ? (double)sum->total : microseconds(report, sum->total);
    const int decimals = counted ? 0 : 3;
    const double scale = counted ? 1 : 1e3;

    buf_printf(out, "%12" PRIu64 " %14.*f %6.1f %% %14.*f %11.3f  %s", sum->calls, decimals,
               self / scale, whole > 0 ? 100 * (double)sum->self / (double)whole : 0, decimals,
               total / scale, sum->calls > 0 ? self / (double)sum->calls : 0,
               trace_report_name(report, sum->function));
    put_where(out, trace_report_function(report, sum->function));
    buf_append_byte(out, '\n');
}

int trace_report_put_table(struct buf *out, const struct trace_report *report, size_t top,
                           struct error *error)
{
    struct call_sum *sums;
    uint64_t whole = 0;
    size_t count;

    if (call_tree_sums(report->tree, 0, &sums, &count, error) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        whole += sums[i].self;
    if (unit_of(report) != NULL)
        buf_printf(out, "%12s %14s %8s %14s %11s  %s\n", "calls", unit_of(report), "", "total",
                   "each", "function");
    else
        buf_printf(out, "%12s %14s %8s %14s %11s  %s\n", "calls", "self ms", "", "total ms",
                   "self µs/call ", "function");
    for (size_t i = 0; i < count && (top == 0 || i < top); i++)
        put_row(out, report, &sums[i], whole);
    if (top != 0 && count > top)
        buf_printf(out, "%12s %zu functions more\n", "…", count - top);
    free(sums);
    return buf_failed(out) ? error_memory(error, "a report") : 0;
}

static void put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    json_text_string(out, text, strlen(text));
}

static void put_function(struct buf *out, const struct traced_function *function)
{
    put_text(out, "module", function->module);
    if (function->build_id[0] != '\0')
        put_text(out, "buildId", function->build_id);
    buf_printf(out, ",\"address\":%" PRIu64, function->address);
    if (function->source != NULL) {
        put_text(out, "file", function->source);
        buf_printf(out, ",\"line\":%d", function->line);
    }
    if (function->inlined != NULL) {
        buf_append_string(out, ",\"inlined\":");
        json_text_lines(out, function->inlined);
    }
}

static void put_times(struct buf *out, const struct trace_report *report,
                      const struct call_sum *sum)
{
    buf_printf(out, ",\"calls\":%" PRIu64, sum->calls);
    if (unit_of(report) != NULL)
        buf_printf(out, ",\"clock\":\"%s\",\"self\":%" PRIu64 ",\"total\":%" PRIu64 "}\n",
                   unit_of(report), sum->self, sum->total);
    else
        buf_printf(out, ",\"self\":%.9f,\"total\":%.9f}\n", microseconds(report, sum->self) / 1e6,
                   microseconds(report, sum->total) / 1e6);
}

static int put_sums(struct buf *out, const struct trace_report *report, size_t root,
                    struct error *error)
{
    struct call_sum *sums;
    size_t count;

    if (call_tree_sums(report->tree, root, &sums, &count, error) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct call_sum *const sum = &sums[i];
        const struct traced_function *const function = trace_report_function(report, sum->function);

        buf_append_string(out, "{\"kind\":\"native\"");
        if (root != 0)
            put_text(out, "delivery",
                     trace_report_name(report, report->tree->nodes[root].function));
        put_text(out, "function", trace_report_name(report, sum->function));
        if (function != NULL)
            put_function(out, function);
        put_times(out, report, sum);
    }
    free(sums);
    return 0;
}

int trace_report_put_json(struct buf *out, const struct trace_report *report, struct error *error)
{
    if (report->delivery_count == 0 && put_sums(out, report, 0, error) != 0)
        return -1;
    for (size_t i = 1; i < report->tree->count; i++)
        if (report->tree->nodes[i].function >= CALL_TREE_GROUPS &&
            put_sums(out, report, i, error) != 0)
            return -1;
    return buf_failed(out) ? error_memory(error, "a report") : 0;
}
