/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/command/profile/cost_render.h"
#include "tools/output/units.h"

enum { COLUMN = 17, SHARE = 8, NUMBER_SIZE = 40 };

/* 12,345, with its sign where `is_signed`. */
static void format_number(char text[NUMBER_SIZE], int64_t number, bool is_signed)
{
    char digits[24];
    const uint64_t size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    const int count = snprintf(digits, sizeof digits, "%" PRIu64, size);
    char *at = text;

    if (number < 0 || (is_signed && number > 0))
        *at++ = number < 0 ? '-' : '+';
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
}

static void cost_text_put_number(struct buf *out, int64_t number, bool known, bool is_signed)
{
    char text[NUMBER_SIZE] = "-";

    if (known)
        format_number(text, number, is_signed);
    units_pad(out, text, COLUMN);
}

static void put_share(struct buf *out, int64_t part, int64_t all)
{
    char text[NUMBER_SIZE] = "-";

    if (all != 0)
        snprintf(text, sizeof text, "%.2f", 100 * (double)part / (double)all);
    units_pad(out, text, SHARE);
}

/* Which columns there is something for. */
struct columns {
    bool instructions, calls, total;
};

static struct columns columns_of(const struct cost_groups *groups)
{
    struct columns columns = {0};

    for (size_t i = 0; i < groups->count; i++) {
        const struct cost_sums *sums = &groups->groups[i].sides[COST_NOW];

        columns.instructions |= sums->has_instructions;
        columns.calls |= sums->has_calls;
        columns.total |= sums->has_total;
    }
    return columns;
}

static void put_place(struct buf *out, const struct cost_group *group)
{
    if (group->file[0] == '\0')
        return;
    buf_printf(out, "%s%s", group->function[0] != '\0' ? " (" : "", group->file);
    if (group->line != COST_NONE)
        buf_printf(out, ":%" PRId64, group->line);
    if (group->function[0] != '\0')
        buf_append_byte(out, ')');
}

static void cost_text_put_name(struct buf *out, const struct cost_group *group, enum cost_by by)
{
    const char *vat = group->vat[0] != '\0' ? group->vat : group->vat_id;

    buf_append_string(out, "  ");
    switch (by) {
    case COST_BY_FUNCTION:
        buf_append_string(out, group->function);
        put_place(out, group);
        break;
    case COST_BY_LINE:
        buf_append_string(out, group->file[0] != '\0' ? "" : "(no line)");
        put_place(out, group);
        break;
    case COST_BY_DELIVERY:
        if (group->crank_num != COST_NONE)
            buf_printf(out, "c%" PRId64 " ", group->crank_num);
        if (group->delivery_num != COST_NONE)
            buf_printf(out, "d%" PRId64 " ", group->delivery_num);
        __attribute__((fallthrough));
    case COST_BY_METHOD:
        buf_printf(out, "%s %s", vat, group->method[0] != '\0' ? group->method : "?");
        break;
    case COST_BY_VAT:
        buf_append_string(out, vat);
        break;
    }
    buf_append_byte(out, '\n');
}

/* ---- one profile ---- */

static void put_group(struct buf *out, const struct cost_groups *groups, struct columns columns,
                      const struct cost_group *group)
{
    const struct cost_sums *sums = &group->sides[COST_NOW];

    cost_text_put_number(out, sums->self, true, false);
    put_share(out, sums->self, groups->all[COST_NOW].self);
    if (columns.total)
        cost_text_put_number(out, sums->total, sums->has_total, false);
    if (columns.instructions)
        cost_text_put_number(out, sums->self_instructions, sums->has_instructions, false);
    if (columns.calls)
        cost_text_put_number(out, sums->calls, sums->has_calls, false);
    cost_text_put_name(out, group, groups->by);
}

static void put_heading(struct buf *out, const struct cost_groups *groups, struct columns columns)
{
    char heading[NUMBER_SIZE];

    snprintf(heading, sizeof heading, "%s%s", columns.total ? "self " : "",
             cost_unit_names[groups->unit]);
    units_pad(out, heading, COLUMN);
    units_pad(out, "%", SHARE);
    if (columns.total)
        units_pad(out, "total", COLUMN);
    if (columns.instructions)
        units_pad(out, "instructions", COLUMN);
    if (columns.calls)
        units_pad(out, "calls", COLUMN);
    buf_printf(out, "  %s\n", cost_by_names[groups->by]);
}

/* ---- two that are compared ---- */

static void put_difference(struct buf *out, const struct cost_groups *groups,
                           const struct cost_group *group)
{
    const struct cost_sums *now = &group->sides[COST_NOW], *before = &group->sides[COST_BEFORE];

    cost_text_put_number(out, cost_group_difference(group), true, true);
    cost_text_put_number(out, before->self, true, false);
    cost_text_put_number(out, now->self, true, false);
    cost_text_put_name(out, group, groups->by);
}

static void put_comparison_heading(struct buf *out, const struct cost_groups *groups)
{
    units_pad(out, "difference", COLUMN);
    units_pad(out, "before", COLUMN);
    units_pad(out, "now", COLUMN);
    buf_printf(out, "  %s\n", cost_by_names[groups->by]);
}

/* Groups that cost the same stand behind all others. */
static size_t count_different(const struct cost_groups *groups)
{
    size_t count = 0;

    while (count < groups->count && cost_group_difference(&groups->groups[count]) != 0)
        count++;
    return count;
}

/* ---- */

static void put_sums(struct buf *out, const struct cost_groups *groups)
{
    struct cost_group all = {.vat_id = "", .vat = "all", .method = "", .function = "", .file = ""};
    char text[NUMBER_SIZE];

    memcpy(all.sides, groups->all, sizeof all.sides);
    format_number(text, all.sides[COST_NOW].self, false);
    buf_printf(out, "\n%s %s", text, cost_unit_names[groups->unit]);
    if (all.sides[COST_NOW].has_instructions) {
        format_number(text, all.sides[COST_NOW].self_instructions, false);
        buf_printf(out, ", %s instructions", text);
    }
    if (groups->compared) {
        format_number(text, all.sides[COST_BEFORE].self, false);
        buf_printf(out, "; before %s", text);
        format_number(text, cost_group_difference(&all), true);
        buf_printf(out, ", difference %s", text);
    }
    buf_append_byte(out, '\n');
}

void cost_render_text(struct buf *out, const struct cost_groups *groups, size_t most)
{
    const size_t count = groups->compared ? count_different(groups) : groups->count;
    const struct columns columns = columns_of(groups);

    if (groups->compared)
        put_comparison_heading(out, groups);
    else
        put_heading(out, groups, columns);
    for (size_t i = 0; i < count && i < most; i++) {
        if (groups->compared)
            put_difference(out, groups, &groups->groups[i]);
        else
            put_group(out, groups, columns, &groups->groups[i]);
    }
    put_sums(out, groups);
    if (count > most)
        buf_printf(out, "%zu more; --top %zu shows all\n", count - most, count);
    if (groups->compared && groups->count > count)
        buf_printf(out, "%zu cost the same\n", groups->count - count);
}
