/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/estimate/estimate_output.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/lines.h"
#include "base/output/output_file.h"
#include "base/text/format.h"

/* ---- read again ---- */

static double cost_number(const json_t *line, const char *name)
{
    const json_t *value = json_object_get(line, name);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static unsigned read_warnings(const json_t *names)
{
    const json_t *name;
    unsigned warnings = 0;
    size_t index;

    json_array_foreach(names, index, name)
    {
        for (size_t i = 0; json_is_string(name) && i < COST_WARNINGS; i++)
            if (strcmp(cost_warnings[i], json_string_value(name)) == 0)
                warnings |= 1U << i;
    }
    return warnings;
}

int estimate_read_cost(struct cost *cost, const json_t *line, struct error *error)
{
    const char *per = json_string_value(json_object_get(line, "per"));

    *cost = (struct cost){
        .operation = json_string_value(json_object_get(line, "operation")),
        .unit = per != NULL && strcmp(per, "operation") != 0 ? per : NULL,
        .amounts = {[MEASURE_INSTRUCTIONS] = cost_number(line, "instructions"),
                    [MEASURE_COMPUTRONS] = cost_number(line, "computrons"),
                    [MEASURE_BLOCK_COST] = cost_number(line, "blockCost"),
                    [MEASURE_GAS] = (double)NAN},
        .gas = cost_number(line, "gas"),
        .charged = cost_number(line, "charged"),
        .ratio = cost_number(line, "ratio"),
        .residual = cost_number(line, "residual"),
        .warnings = read_warnings(json_object_get(line, "warnings")),
    };
    return cost->operation != NULL && per != NULL
               ? 0
               : error_set(error, ERROR_INPUT, "a cost has no operation, or is per nothing");
}

/* ---- a history ---- */

enum { RECORD_VERSION = 1, RECORD_FILE_MAX = 256 << 20 };

/* The name of a cost: "OPERATION" or "OPERATION per UNIT". */
static void estimate_record_name(struct buf *name, const struct cost *cost)
{
    buf_append_string(name, cost->operation);
    if (cost->unit != NULL)
        buf_printf(name, " per %s", cost->unit);
}

static void write_cost(struct buf *out, const struct cost *cost)
{
    struct buf name = {0};

    estimate_record_name(&name, cost);
    json_text_string(out, name.data, name.length);
    buf_printf(out, ":%.6f", cost->amounts[cost_main_measure(cost)]);
    if (buf_failed(&name))
        out->failed = true;
    buf_free(&name);
}

void estimate_record_write(struct buf *out, const struct estimate *estimate)
{
    buf_printf(out, "{\"kind\":\"estimate\",\"version\":%d,\"suite\":", RECORD_VERSION);
    json_text_string(out, estimate->suite, strlen(estimate->suite));
    buf_append_string(out, ",\"label\":");
    if (estimate->label[0] != '\0')
        json_text_string(out, estimate->label, strlen(estimate->label));
    else
        buf_printf(out, "\"%.12s\"", estimate->fingerprint);
    buf_printf(out, ",\"fingerprint\":\"%s\",\"costs\":{", estimate->fingerprint);
    for (size_t i = 0; i < estimate->costs.count; i++) {
        if (i > 0)
            buf_append_byte(out, ',');
        write_cost(out, &estimate->costs.items[i]);
    }
    buf_append_string(out, "}}\n");
}

/* ---- reading ---- */

static const char *record_check(const json_t *record)
{
    const char *kind = json_string_value(json_object_get(record, "kind"));

    if (kind == NULL || strcmp(kind, "estimate") != 0)
        return "not a file of gaspipe estimate --save or --history";
    if (json_integer_value(json_object_get(record, "version")) != RECORD_VERSION)
        return "this gaspipe reads costs of version 1";
    if (!json_is_string(json_object_get(record, "suite")) ||
        !json_is_string(json_object_get(record, "label")) ||
        !json_is_string(json_object_get(record, "fingerprint")) ||
        !json_is_object(json_object_get(record, "costs")))
        return "suite, label, fingerprint or costs are missing";
    return NULL;
}

/* A line into the array, if it is of the suite. */
static int read_record_line(json_t *records, const char *suite, const char *line, size_t length,
                            const char **fault)
{
    json_error_t problem;
    json_t *record = json_value_read(line, length, JSON_REJECT_DUPLICATES, &problem);

    *fault = record != NULL ? record_check(record) : "not JSON";
    if (*fault == NULL && strcmp(json_string_value(json_object_get(record, "suite")), suite) == 0)
        return json_array_append_new(records, record);
    json_decref(record);
    return *fault == NULL ? 0 : -1;
}

static int read_records(json_t *records, const char *suite, const char *path,
                        const struct buf *text, struct error *error)
{
    size_t place = 0, length, number = 0;
    const char *line;

    while (lines_next(text, &place, &line, &length)) {
        const char *fault = NULL;

        number++;
        if (length > 0 && read_record_line(records, suite, line, length, &fault) != 0)
            return fault != NULL ? error_set(error, ERROR_INPUT, "%s:%zu: %s", path, number, fault)
                                 : error_memory(error, "a history");
    }
    return 0;
}

json_t *estimate_record_read(const char *path, const char *suite, struct error *error)
{
    struct buf text = {0};
    json_t *records = json_array();
    int result = records != NULL ? io_read_file(path, RECORD_FILE_MAX, &text, error)
                                 : error_memory(error, "a history");

    if (result == 0)
        result = read_records(records, suite, path, &text, error);
    buf_free(&text);
    if (result == 0)
        return records;
    json_decref(records);
    return NULL;
}

int estimate_record_append(const char *path, const struct estimate *estimate, struct error *error)
{
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    struct buf line = {0};
    int result = 0;

    estimate_record_write(&line, estimate);
    if (fd < 0)
        result = error_system(error, errno, "cannot open the history %s", path);
    else if (buf_failed(&line))
        result = error_memory(error, "the history");
    else if (io_write_all(fd, line.data, line.length) != 0)
        result = error_system(error, errno, "cannot write the history %s", path);
    if (fd >= 0 && close(fd) != 0 && result == 0)
        result = error_system(error, errno, "cannot write the history %s", path);
    buf_free(&line);
    return result;
}

/* ---- a table and JSON ---- */

enum { NAME_WIDTH_LEAST = 9 };

/* The ratio of what is charged to what it should be, in words; "" where it is not known. */
static void estimate_print_ratio(struct buf *out, double ratio)
{
    if (isnan(ratio))
        return;
    if (ratio <= 0)
        buf_append_string(out, "free");
    else if (ratio < 1)
        buf_printf(out, "%.2f x under", 1 / ratio);
    else
        buf_printf(out, "%.2f x over", ratio);
}

/* The warnings in words, separated by commas. */
static void estimate_print_warnings(struct buf *out, unsigned warnings)
{
    bool first = true;

    for (size_t i = 0; i < COST_WARNINGS; i++) {
        if ((warnings & 1U << i) == 0)
            continue;
        buf_printf(out, "%s%s", first ? "" : ", ", cost_warnings[i]);
        first = false;
    }
}

/* ---- for people ---- */

/* "1,234,567.89", or "-" where it is not known. */
static void put_grouped(struct buf *out, int width, double amount, int decimals)
{
    char digits[400];

    if (!isfinite(amount)) {
        buf_printf(out, "%*s", width, "-");
        return;
    }
    snprintf(digits, sizeof digits, "%.*f", decimals, amount);
    buf_append_grouped(out, width, digits);
}

static int name_width(const struct estimate *estimate)
{
    size_t width = NAME_WIDTH_LEAST;

    for (size_t i = 0; i < estimate->costs.count; i++) {
        const struct cost *cost = &estimate->costs.items[i];
        const size_t length = strlen(cost->operation) +
                              (cost->unit != NULL ? strlen(" per ") + strlen(cost->unit) : 0);

        width = length > width ? length : width;
    }
    return (int)width;
}

static void put_report_row(struct buf *out, const struct cost *cost, int width)
{
    struct buf name = {0}, ratio = {0}, warnings = {0};

    estimate_record_name(&name, cost);
    estimate_print_ratio(&ratio, cost->ratio);
    estimate_print_warnings(&warnings, cost->warnings);
    buf_printf(out, "%-*s", width, buf_string(&name) != NULL ? buf_string(&name) : "");
    put_grouped(out, 18, cost->amounts[cost_main_measure(cost)], 2);
    put_grouped(out, 22, cost->gas, 0);
    put_grouped(out, 22, cost->charged, 0);
    buf_printf(out, "%18s", buf_string(&ratio) != NULL ? buf_string(&ratio) : "");
    buf_printf(out, "%11.1f %%", 100 * cost->residual);
    if (cost->warnings != 0)
        buf_printf(out, "  %s", buf_string(&warnings) != NULL ? buf_string(&warnings) : "");
    buf_append_byte(out, '\n');
    buf_free(&name);
    buf_free(&ratio);
    buf_free(&warnings);
}

static size_t count_ratios(const struct estimate *estimate, bool under)
{
    size_t count = 0;

    for (size_t i = 0; i < estimate->costs.count; i++) {
        const double ratio = estimate->costs.items[i].ratio;

        count += !isnan(ratio) && (ratio < 1) == under;
    }
    return count;
}

static const char *unit_of_cost(const struct estimate *estimate)
{
    static const char *const units[MEASURES] = {"instructions", "computrons", "block cost", "gas"};

    return estimate->costs.count > 0 ? units[cost_main_measure(&estimate->costs.items[0])] : "";
}

void estimate_print_table(struct buf *out, const struct estimate *estimate)
{
    const int width = name_width(estimate);

    buf_printf(out, "%-*s%18s%22s%22s%18s%13s\n", width, "operation", unit_of_cost(estimate), "gas",
               "charged today", "charged", "unexplained");
    for (size_t i = 0; i < estimate->costs.count; i++)
        put_report_row(out, &estimate->costs.items[i], width);
    buf_printf(out, "\n%zu %s: %zu undercharged, %zu not\n", estimate->costs.count,
               format_plural(estimate->costs.count, "cost", "costs"), count_ratios(estimate, true),
               count_ratios(estimate, false));
}

/* ---- for programs ---- */

static void estimate_print_member(struct buf *out, const char *name, double amount)
{
    if (isfinite(amount))
        buf_printf(out, ",\"%s\":%.6f", name, amount);
    else
        buf_printf(out, ",\"%s\":null", name);
}

static void put_warnings(struct buf *out, unsigned warnings)
{
    bool first = true;

    buf_append_string(out, ",\"warnings\":[");
    for (size_t i = 0; i < COST_WARNINGS; i++) {
        if ((warnings & 1U << i) == 0)
            continue;
        buf_printf(out, "%s\"%s\"", first ? "" : ",", cost_warnings[i]);
        first = false;
    }
    buf_append_byte(out, ']');
}

static void put_estimated_cost(struct buf *out, const struct cost *cost)
{
    buf_append_string(out, "{\"kind\":\"cost\",\"operation\":");
    json_text_string(out, cost->operation, strlen(cost->operation));
    buf_append_string(out, ",\"per\":");
    json_text_string(out, cost->unit != NULL ? cost->unit : "operation",
                     strlen(cost->unit != NULL ? cost->unit : "operation"));
    estimate_print_member(out, "instructions", cost->amounts[MEASURE_INSTRUCTIONS]);
    estimate_print_member(out, "computrons", cost->amounts[MEASURE_COMPUTRONS]);
    estimate_print_member(out, "blockCost", cost->amounts[MEASURE_BLOCK_COST]);
    estimate_print_member(out, "gas", cost->gas);
    estimate_print_member(out, "charged", cost->charged);
    estimate_print_member(out, "ratio", cost->ratio);
    estimate_print_member(out, "residual", cost->residual);
    put_warnings(out, cost->warnings);
    buf_append_string(out, "}\n");
}

void estimate_print_json(struct buf *out, const struct estimate *estimate)
{
    for (size_t i = 0; i < estimate->costs.count; i++)
        put_estimated_cost(out, &estimate->costs.items[i]);
    buf_append_string(out, "{\"kind\":\"summary\",\"suite\":");
    json_text_string(out, estimate->suite, strlen(estimate->suite));
    buf_printf(out, ",\"costs\":%zu,\"undercharged\":%zu,\"fingerprint\":", estimate->costs.count,
               count_ratios(estimate, true));
    if (estimate->fingerprint[0] != '\0')
        buf_printf(out, "\"%s\"}\n", estimate->fingerprint);
    else
        buf_append_string(out, "null}\n");
}

/* ---- what moved ---- */

/* The recorded amount; NAN: not recorded. */
static double cost_before(const json_t *record, const struct cost *cost)
{
    struct buf name = {0};
    const json_t *value = NULL;

    estimate_record_name(&name, cost);
    if (buf_string(&name) != NULL)
        value = json_object_get(json_object_get(record, "costs"), buf_string(&name));
    buf_free(&name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* In percent of what it was. */
static double moved_by(double before, double now)
{
    if (before == now)
        return 0;
    return before != 0 ? 100 * (now - before) / fabs(before) : (double)INFINITY;
}

static void put_cost_amount(struct buf *out, const char *name, double amount)
{
    if (isfinite(amount))
        buf_printf(out, ",\"%s\":%.6f", name, amount);
    else
        buf_printf(out, ",\"%s\":null", name);
}

/* A cost before and now; NAN: new, or gone. */
static void put_moved_cost(struct buf *out, const char *name, double before, double now, bool json)
{
    const double percent = moved_by(before, now);

    if (json) {
        buf_append_string(out, "{\"kind\":\"moved\",\"cost\":");
        json_text_string(out, name, strlen(name));
        put_cost_amount(out, "before", before);
        put_cost_amount(out, "now", now);
        put_cost_amount(out, "percent", percent);
        buf_append_string(out, "}\n");
    } else if (isnan(before)) {
        buf_printf(out, "%s: new, %.2f\n", name, now);
    } else if (isnan(now)) {
        buf_printf(out, "%s: gone, was %.2f\n", name, before);
    } else {
        buf_printf(out, "%s: %+.2f %%, was %.2f, is %.2f\n", name, percent, before, now);
    }
}

static bool has_cost(const struct costs *costs, const char *name)
{
    struct buf own = {0};
    bool found = false;

    for (size_t i = 0; !found && i < costs->count; i++) {
        buf_clear(&own);
        estimate_record_name(&own, &costs->items[i]);
        found = buf_string(&own) != NULL && strcmp(buf_string(&own), name) == 0;
    }
    buf_free(&own);
    return found;
}

static size_t compare_gone(const struct estimate *estimate, const json_t *record, bool json,
                           struct buf *out)
{
    json_t *value;
    const char *name;
    size_t gone = 0;

    json_object_foreach(json_object_get(record, "costs"), name, value)
    {
        if (has_cost(&estimate->costs, name))
            continue;
        put_moved_cost(out, name, json_number_value(value), (double)NAN, json);
        gone++;
    }
    return gone;
}

size_t estimate_compare(const struct estimate *estimate, const json_t *record, const char *only,
                        double allow, bool json, struct buf *out)
{
    const char *fingerprint = json_string_value(json_object_get(record, "fingerprint"));
    size_t moved = 0;

    for (size_t i = 0; i < estimate->costs.count; i++) {
        const struct cost *cost = &estimate->costs.items[i];
        const double now = cost->amounts[cost_main_measure(cost)];
        const double before = cost_before(record, cost);
        struct buf name = {0};

        estimate_record_name(&name, cost);
        if (buf_string(&name) != NULL && !(fabs(moved_by(before, now)) <= allow)) {
            put_moved_cost(out, buf_string(&name), before, now, json);
            moved += !isnan(before);
        }
        buf_free(&name);
    }
    if (only == NULL)
        moved += compare_gone(estimate, record, json, out);
    if (!json && moved == 0)
        buf_printf(out, "no cost moved by more than %g %%\n", allow);
    if (!json && strcmp(fingerprint, estimate->fingerprint) != 0)
        buf_append_string(out, "the files that count and compute have changed since\n");
    return moved;
}

/* ---- a page ---- */

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
static void put_cost_text(struct buf *out, const char *text)
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

/* A constant cost is a line in the middle. */
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
        put_cost_text(out, json_string_value(label) != NULL ? json_string_value(label) : "");
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

static void put_cost_number(struct buf *out, double number, int decimals)
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
    put_cost_text(out, buf_string(&name) != NULL ? buf_string(&name) : "");
    buf_append_string(out, "</td>");
    put_cost_number(out, cost->amounts[cost_main_measure(cost)], 2);
    put_cost_number(out, cost->gas, 0);
    put_cost_number(out, cost->charged, 0);
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
    put_cost_text(out, estimate->suite);
    buf_append_string(out, "</title>\n<h1>Costs: ");
    put_cost_text(out, estimate->suite);
    buf_append_string(out, "</h1>\n<p>");
    put_cost_text(out, estimate->label);
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
