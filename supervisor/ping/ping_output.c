/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/ping/ping_output.h"

#include <inttypes.h>
#include <string.h>

#include "base/json/json_text.h"

enum { BAR_WIDTH = 50 };

static double ratio(const struct ping_report *report, double share)
{
    return (double)ping_samples_percentile(&report->trips->total, share) /
           (double)ping_samples_percentile(report->baseline, share);
}

static const char *worker_of(const struct ping_options *options)
{
    if (options->worker != NULL)
        return options->worker;
    if (options->counters.compiled)
        return options->counters.qemu ? "gaspipe-worker-metered under QEMU"
                                      : "gaspipe-worker-metered";
    return options->counters.qemu ? "gaspipe-worker under QEMU" : "gaspipe-worker";
}

/* ---- for people ---- */

static void put_place(struct buf *out, const struct placement *placement)
{
    switch (placement->kind) {
    case PLACEMENT_NONE:
        buf_append_string(out, "both ends where the system puts them");
        break;
    case PLACEMENT_SAME:
        buf_printf(out, "both ends on processor %d", placement->here);
        break;
    case PLACEMENT_SPREAD:
        buf_printf(out, "ends on processors %d and %d", placement->here, placement->there);
        break;
    case PLACEMENT_AUTO:
        if (placement->here >= 0)
            buf_printf(out, "both ends on processor %d", placement->here);
        else
            buf_append_string(out, "both ends where the system puts them, as found best");
        break;
    }
}

static void put_row(struct buf *out, const char *name, const struct ping_samples *samples)
{
    static const double shares[] = {0.5, 0.9, 0.99, 1};

    buf_printf(out, "%-20s", name);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        buf_printf(out, " %11.2f", (double)ping_samples_percentile(samples, shares[i]) / 1e3);
    buf_printf(out, " %11.2f\n", (double)ping_samples_mean(samples) / 1e3);
}

static void put_histogram(struct buf *out, const struct ping_samples *samples)
{
    struct ping_bar bar;
    size_t next = 0;

    while (ping_samples_bar(samples, &next, &bar)) {
        size_t length = (bar.count * BAR_WIDTH + samples->count - 1) / samples->count;

        buf_printf(out, "%12.2f - %9.2f us %9zu ", (double)bar.from / 1e3, (double)bar.to / 1e3,
                   bar.count);
        while (length-- > 0)
            buf_append_byte(out, '#');
        buf_append_byte(out, '\n');
    }
}

void ping_output_text(struct buf *out, const struct ping_report *report)
{
    const struct ping_trips *trips = report->trips;

    buf_printf(out, "%zu bytes there and back, %zu times, %s, ", report->size, trips->total.count,
               worker_of(report->options));
    put_place(out, report->placement);
    if (report->options->load > 0)
        buf_printf(out, ", beside %zu process%s", report->options->load,
                   report->options->load == 1 ? " that computes" : "es that compute");
    buf_printf(out, "\n%-20s %11s %11s %11s %11s %11s\n", "microseconds", "median", "90 %", "99 %",
               "longest", "mean");
    put_row(out, "bare pipes", report->baseline);
    put_row(out, "round trip", &trips->total);
    put_row(out, "  to the worker", &trips->down);
    put_row(out, "  in the worker", &trips->worker);
    put_row(out, "  from the worker", &trips->up);
    put_row(out, "  reading the meter", &trips->record);
    buf_printf(out, "%-20s %11.2f %11.2f %11.2f\n", "times bare pipes", ratio(report, 0.5),
               ratio(report, 0.9), ratio(report, 0.99));
    put_histogram(out, &trips->total);
    buf_append_byte(out, '\n');
}

/* ---- for programs ---- */

static void put_json_samples(struct buf *out, const char *name, const struct ping_samples *samples)
{
    buf_printf(out,
               ",\"%s\":{\"median\":%" PRId64 ",\"p90\":%" PRId64 ",\"p99\":%" PRId64
               ",\"max\":%" PRId64 ",\"mean\":%" PRId64 "}",
               name, ping_samples_percentile(samples, 0.5), ping_samples_percentile(samples, 0.9),
               ping_samples_percentile(samples, 0.99), ping_samples_percentile(samples, 1),
               ping_samples_mean(samples));
}

static void put_json_histogram(struct buf *out, const struct ping_samples *samples)
{
    struct ping_bar bar;
    size_t next = 0;

    buf_append_string(out, ",\"histogram\":[");
    while (ping_samples_bar(samples, &next, &bar))
        buf_printf(out, "%s[%" PRId64 ",%" PRId64 ",%zu]", next == bar.count ? "" : ",", bar.from,
                   bar.to, bar.count);
    buf_append_byte(out, ']');
}

/* Of this process and of the worker; null: wherever the system puts it. */
static void put_json_processors(struct buf *out, const struct placement *placement)
{
    if (placement->here >= 0)
        buf_printf(out, ",\"processors\":[%d,%d]", placement->here, placement->there);
    else
        buf_append_string(out, ",\"processors\":null");
}

void ping_output_json(struct buf *out, const struct ping_report *report)
{
    const struct ping_trips *trips = report->trips;
    const char *worker = worker_of(report->options);

    buf_printf(out, "{\"kind\":\"ping\",\"size\":%zu,\"frameDown\":%zu,\"frameUp\":%zu",
               report->size, report->to, report->fro);
    buf_printf(out, ",\"count\":%zu,\"placement\":\"%s\"", trips->total.count,
               placement_names[report->placement->kind]);
    put_json_processors(out, report->placement);
    buf_printf(out, ",\"load\":%zu", report->options->load);
    buf_append_string(out, ",\"worker\":");
    json_text_string(out, worker, strlen(worker));
    put_json_samples(out, "bare", report->baseline);
    put_json_samples(out, "total", &trips->total);
    put_json_samples(out, "down", &trips->down);
    put_json_samples(out, "inWorker", &trips->worker);
    put_json_samples(out, "up", &trips->up);
    put_json_samples(out, "meter", &trips->record);
    buf_printf(out, ",\"ratio\":{\"median\":%.3f,\"p99\":%.3f}", ratio(report, 0.5),
               ratio(report, 0.99));
    put_json_histogram(out, &trips->total);
    buf_append_string(out, "}\n");
}
