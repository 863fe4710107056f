/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/estimate/output/estimate_print.h"

#include <math.h>
#include <string.h>

#include "base/json/json_text.h"

enum { NAME_WIDTH_LEAST = 9 };

void estimate_print_ratio(struct buf *out, double ratio)
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

void estimate_print_warnings(struct buf *out, unsigned warnings)
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
    char digits[400], text[600];
    size_t length = 0;
    const char *at, *point;

    if (!isfinite(amount)) {
        buf_printf(out, "%*s", width, "-");
        return;
    }
    snprintf(digits, sizeof digits, "%.*f", decimals, amount);
    point = digits + strcspn(digits, ".");
    for (at = digits; *at != '\0'; at++) {
        text[length++] = *at;
        if (*at != '-' && at + 1 < point && (point - at - 1) % 3 == 0)
            text[length++] = ',';
    }
    text[length] = '\0';
    buf_printf(out, "%*s", width, text);
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

static void put_row(struct buf *out, const struct cost *cost, int width)
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

static const char *unit_of(const struct estimate *estimate)
{
    static const char *const units[MEASURES] = {"instructions", "computrons", "block cost", "gas"};

    return estimate->costs.count > 0 ? units[cost_main_measure(&estimate->costs.items[0])] : "";
}

void estimate_print_table(struct buf *out, const struct estimate *estimate)
{
    const int width = name_width(estimate);

    buf_printf(out, "%-*s%18s%22s%22s%18s%13s\n", width, "operation", unit_of(estimate), "gas",
               "charged today", "charged", "unexplained");
    for (size_t i = 0; i < estimate->costs.count; i++)
        put_row(out, &estimate->costs.items[i], width);
    buf_printf(out, "\n%zu costs: %zu undercharged, %zu not\n", estimate->costs.count,
               count_ratios(estimate, true), count_ratios(estimate, false));
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

static void put_cost(struct buf *out, const struct cost *cost)
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
        put_cost(out, &estimate->costs.items[i]);
    buf_append_string(out, "{\"kind\":\"summary\",\"suite\":");
    json_text_string(out, estimate->suite, strlen(estimate->suite));
    buf_printf(out, ",\"costs\":%zu,\"undercharged\":%zu,\"fingerprint\":", estimate->costs.count,
               count_ratios(estimate, true));
    if (estimate->fingerprint[0] != '\0')
        buf_printf(out, "\"%s\"}\n", estimate->fingerprint);
    else
        buf_append_string(out, "null}\n");
}
