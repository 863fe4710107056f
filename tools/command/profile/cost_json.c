/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/json/json_text.h"
#include "tools/command/profile/cost_render.h"

static void cost_json_put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    if (text[0] == '\0')
        buf_append_string(out, "null");
    else
        json_text_string(out, text, strlen(text));
}

static void cost_json_put_number(struct buf *out, const char *name, const char *suffix,
                                 int64_t number, bool known)
{
    buf_printf(out, ",\"%s%s\":", name, suffix);
    if (known)
        json_text_integer(out, number);
    else
        buf_append_string(out, "null");
}

/* Of native functions, as in the profile: what there is is one unit. */
static void put_sums(struct buf *out, const struct cost_sums *sums, enum cost_unit unit,
                     const char *suffix)
{
    const bool native = unit == COST_INSTRUCTIONS, is_computrons = unit == COST_COMPUTRONS;

    cost_json_put_number(out, "calls", suffix, sums->calls, sums->has_calls);
    cost_json_put_number(out, "self", suffix, sums->self, is_computrons);
    cost_json_put_number(out, "total", suffix, sums->total, sums->has_total && is_computrons);
    cost_json_put_number(out, "selfInstructions", suffix,
                         native ? sums->self : sums->self_instructions,
                         native || sums->has_instructions);
    cost_json_put_number(out, "totalInstructions", suffix,
                         native ? sums->total : sums->total_instructions,
                         (native || sums->has_instructions) && sums->has_total);
    if (unit != COST_NANOSECONDS && unit != COST_BLOCK_COST)
        return;
    cost_json_put_number(out, unit == COST_NANOSECONDS ? "selfNanoseconds" : "selfBlockCost",
                         suffix, sums->self, true);
    cost_json_put_number(out, unit == COST_NANOSECONDS ? "totalNanoseconds" : "totalBlockCost",
                         suffix, sums->total, sums->has_total);
}

static void put_who(struct buf *out, const struct cost_group *group, enum cost_by by)
{
    if (by >= COST_BY_VAT) {
        cost_json_put_text(out, "vatID", group->vat_id);
        cost_json_put_text(out, "vat", group->vat);
    }
    if (by >= COST_BY_METHOD)
        cost_json_put_text(out, "method", group->method);
    if (by == COST_BY_DELIVERY) {
        cost_json_put_number(out, "crankNum", "", group->crank_num, group->crank_num != COST_NONE);
        cost_json_put_number(out, "deliveryNum", "", group->delivery_num,
                             group->delivery_num != COST_NONE);
    }
    if (by == COST_BY_FUNCTION)
        cost_json_put_text(out, "function", group->function);
    if (by <= COST_BY_LINE) {
        cost_json_put_text(out, "file", group->file);
        cost_json_put_number(out, "line", "", group->line, group->line != COST_NONE);
    }
}

void cost_render_json(struct buf *out, const struct cost_groups *groups, size_t most)
{
    for (size_t i = 0; i < groups->count && i < most; i++) {
        const struct cost_group *group = &groups->groups[i];

        buf_printf(out, "{\"kind\":\"%s\"", cost_by_names[groups->by]);
        put_who(out, group, groups->by);
        put_sums(out, &group->sides[COST_NOW], groups->unit, "");
        if (groups->compared) {
            put_sums(out, &group->sides[COST_BEFORE], groups->unit, "Before");
            cost_json_put_number(out, "difference", "", cost_group_difference(group), true);
        }
        buf_append_string(out, "}\n");
    }
}
