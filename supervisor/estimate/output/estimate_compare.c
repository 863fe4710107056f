/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/estimate/output/estimate_compare.h"

#include <math.h>
#include <string.h>

#include "base/json/json_text.h"

/* NAN: there is none of this name. */
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

static void put_amount(struct buf *out, const char *name, double amount)
{
    if (isfinite(amount))
        buf_printf(out, ",\"%s\":%.6f", name, amount);
    else
        buf_printf(out, ",\"%s\":null", name);
}

/* A cost before and now; NAN: it is new, or gone. */
static void tell(struct buf *out, const char *name, double before, double now, bool json)
{
    const double percent = moved_by(before, now);

    if (json) {
        buf_append_string(out, "{\"kind\":\"moved\",\"cost\":");
        json_text_string(out, name, strlen(name));
        put_amount(out, "before", before);
        put_amount(out, "now", now);
        put_amount(out, "percent", percent);
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
        tell(out, name, json_number_value(value), (double)NAN, json);
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
            tell(out, buf_string(&name), before, now, json);
            moved += !isnan(before);
        }
        buf_free(&name);
    }
    if (only == NULL)
        moved += compare_gone(estimate, record, json, out);
    if (!json && moved == 0)
        buf_printf(out, "no cost moved by more than %g %%\n", allow);
    if (!json && strcmp(fingerprint, estimate->fingerprint) != 0)
        buf_append_string(out, "what counted and computed is not the same as then\n");
    return moved;
}
