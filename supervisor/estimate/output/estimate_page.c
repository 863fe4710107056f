/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/estimate/output/estimate_page.h"

#include <math.h>
#include <string.h>

#include "base/output/output_file.h"
#include "supervisor/estimate/output/estimate_print.h"

enum { PLOT_WIDTH = 240, PLOT_HEIGHT = 36, PLOT_MARGIN = 4 };

static const char page_head[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\"><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'\">\n"
    "<style>\n"
    "body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }\n"
    "table { border-collapse: collapse }\n"
    "th, td { padding: .25em .8em; border-bottom: 1px solid #ddd; text-align: right }\n"
    "th:first-child, td:first-child, td.note { text-align: left }\n"
    "thead th { position: sticky; top: 0; background: #fff }\n"
    ".under { color: #b00020 }\n"
    "svg { display: block }\n"
    "polyline { fill: none; stroke: #3366aa; stroke-width: 1.5 }\n"
    "circle { fill: #3366aa }\n"
    "</style>\n";

/* Text for HTML. */
static void put_text(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            buf_append_string(out, "&lt;");
            break;
        case '>':
            buf_append_string(out, "&gt;");
            break;
        case '&':
            buf_append_string(out, "&amp;");
            break;
        case '"':
            buf_append_string(out, "&quot;");
            break;
        default:
            buf_append_byte(out, *text);
        }
    }
}

/* ---- plots ---- */

/* The cost of that name over the records. */
struct plot {
    const json_t *records;
    const char *name;
    double least, most;
    size_t count; /* of records that have it */
};

static double plot_value(const struct plot *plot, size_t record)
{
    const json_t *costs = json_object_get(json_array_get(plot->records, record), "costs");
    const json_t *value = json_object_get(costs, plot->name);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void plot_scale(struct plot *plot)
{
    for (size_t i = 0; i < json_array_size(plot->records); i++) {
        const double value = plot_value(plot, i);

        if (isnan(value))
            continue;
        plot->least = plot->count == 0 || value < plot->least ? value : plot->least;
        plot->most = plot->count == 0 || value > plot->most ? value : plot->most;
        plot->count++;
    }
}

static double plot_x(const struct plot *plot, size_t record)
{
    const size_t steps = json_array_size(plot->records) - 1;
    const double width = PLOT_WIDTH - 2 * PLOT_MARGIN;

    return PLOT_MARGIN + (steps > 0 ? width * (double)record / (double)steps : width / 2);
}

/* What never changed is a line in the middle. */
static double plot_y(const struct plot *plot, double value)
{
    const double height = PLOT_HEIGHT - 2 * PLOT_MARGIN, range = plot->most - plot->least;

    return PLOT_MARGIN + (range > 0 ? height * (plot->most - value) / range : height / 2);
}

static void put_points(struct buf *out, const struct plot *plot)
{
    for (size_t i = 0; i < json_array_size(plot->records); i++) {
        const json_t *label = json_object_get(json_array_get(plot->records, i), "label");
        const double value = plot_value(plot, i);

        if (isnan(value))
            continue;
        buf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"><title>", plot_x(plot, i),
                   plot_y(plot, value));
        put_text(out, json_string_value(label) != NULL ? json_string_value(label) : "");
        buf_printf(out, ": %.2f</title></circle>", value);
    }
}

static void put_plot(struct buf *out, const json_t *records, const char *name)
{
    struct plot plot = {.records = records, .name = name};

    plot_scale(&plot);
    if (plot.count == 0)
        return;
    buf_printf(out, "<svg width=\"%d\" height=\"%d\" role=\"img\"><polyline points=\"", PLOT_WIDTH,
               PLOT_HEIGHT);
    for (size_t i = 0; i < json_array_size(records); i++)
        if (!isnan(plot_value(&plot, i)))
            buf_printf(out, "%.1f,%.1f ", plot_x(&plot, i), plot_y(&plot, plot_value(&plot, i)));
    buf_append_string(out, "\"/>");
    put_points(out, &plot);
    buf_append_string(out, "</svg>");
}

/* ---- the table ---- */

static void put_number(struct buf *out, double number, int decimals)
{
    if (isfinite(number))
        buf_printf(out, "<td>%.*f</td>", decimals, number);
    else
        buf_append_string(out, "<td></td>");
}

static void put_cost_row(struct buf *out, const struct cost *cost, const json_t *records)
{
    struct buf name = {0};

    estimate_record_name(&name, cost);
    buf_append_string(out, "<tr><td>");
    put_text(out, buf_string(&name) != NULL ? buf_string(&name) : "");
    buf_append_string(out, "</td>");
    put_number(out, cost->amounts[cost_main_measure(cost)], 2);
    put_number(out, cost->gas, 0);
    put_number(out, cost->charged, 0);
    buf_printf(out, "<td%s>", cost->ratio < 1 ? " class=\"under\"" : "");
    estimate_print_ratio(out, cost->ratio);
    buf_append_string(out, "</td><td class=\"note\">");
    estimate_print_warnings(out, cost->warnings);
    buf_append_string(out, "</td><td>");
    if (records != NULL && buf_string(&name) != NULL)
        put_plot(out, records, buf_string(&name));
    buf_append_string(out, "</td></tr>\n");
    buf_free(&name);
}

static void put_page(struct buf *out, const struct estimate *estimate, const json_t *records)
{
    buf_append_string(out, page_head);
    buf_append_string(out, "<title>Costs: ");
    put_text(out, estimate->suite);
    buf_append_string(out, "</title>\n<h1>Costs: ");
    put_text(out, estimate->suite);
    buf_append_string(out, "</h1>\n<p>");
    put_text(out, estimate->label);
    if (estimate->fingerprint[0] != '\0')
        buf_printf(out, " Fingerprint %s.", estimate->fingerprint);
    if (records != NULL)
        buf_printf(out, " %zu versions.", json_array_size(records));
    buf_append_string(out, "</p>\n<table><thead><tr><th>Operation</th><th>Amount</th><th>Gas</th>"
                           "<th>Charged today</th><th>Charged</th><th></th><th>Versions</th></tr>"
                           "</thead><tbody>\n");
    for (size_t i = 0; i < estimate->costs.count; i++)
        put_cost_row(out, &estimate->costs.items[i], records);
    buf_append_string(out, "</tbody></table>\n</html>\n");
}

int estimate_page_write(const char *path, const char *history, const struct estimate *estimate,
                        struct error *error)
{
    json_t *records = NULL;
    struct buf out = {0};
    int result = 0;

    if (history != NULL) {
        records = estimate_record_read(history, estimate->suite, error);
        result = records != NULL ? 0 : -1;
    }
    if (result == 0) {
        put_page(&out, estimate, records);
        result = output_file_write_whole(path, "the page", &out, error);
    }
    buf_free(&out);
    json_decref(records);
    return result;
}
