/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/compare/compare_render.h"

#include <inttypes.h>
#include <math.h>

#include "tools/output/output.h"
#include "tools/output/units.h"

enum { ONLY_SHOWN = 10, COLUMN = 12 };

static void compare_text_append_time(struct buf *out, int64_t nanoseconds)
{
    char text[UNITS_SIZE];

    units_time(text, nanoseconds < 0 ? 0 : (uint64_t)nanoseconds);
    units_pad(out, text, COLUMN);
}

/* A difference with its sign. */
static void append_change(struct buf *out, int64_t nanoseconds)
{
    char text[UNITS_SIZE];

    units_time(text, nanoseconds < 0 ? -(uint64_t)nanoseconds : (uint64_t)nanoseconds);
    buf_printf(out, "%c%s", nanoseconds < 0 ? '-' : '+', text);
}

static void append_name(struct buf *out, const struct pair *pair)
{
    buf_printf(out, "%s delivery %" PRId64 " ", pair->vat_id, pair->delivery_num);
    buf_append_string(out, pair->description);
}

static void append_numbers(struct buf *out, const char *what, double a, double b)
{
    buf_printf(out, "    %s: A %.17g, B %.17g\n", what, a, b);
}

static void append_divergence(struct buf *out, const struct pair *pair)
{
    const struct pair_side *a = &pair->sides[0], *b = &pair->sides[1];
    unsigned differences = pair->differences;

    buf_append_string(out, "DIVERGENCE in ");
    append_name(out, pair);
    buf_append_byte(out, '\n');
    if ((differences & PAIR_INPUT) != 0)
        buf_append_string(out, "    it is another delivery in B\n");
    if ((differences & PAIR_RESULT) != 0)
        buf_printf(out, "    result: A %s, B %s%s\n", a->ok ? "ok" : "error",
                   b->ok ? "ok" : "error", a->ok == b->ok ? " with another value" : "");
    if ((differences & PAIR_SYSCALLS) != 0)
        buf_printf(out, "    syscalls: A %zu, B %zu%s\n", a->syscalls, b->syscalls,
                   a->syscalls == b->syscalls ? " others" : "");
    if ((differences & PAIR_COMPUTE) != 0)
        append_numbers(out, "computrons", a->compute, b->compute);
}

static int append_divergences(struct buf *out, const struct comparison *comparison,
                              struct error *error)
{
    const struct pairs *pairs = comparison->pairs;

    if (comparison->diverging_count == 0 && pairs->both > 0)
        buf_append_string(out, "no divergence: the same deliveries, results, syscalls and "
                               "computrons in both\n");
    for (size_t i = 0; i < pairs->count && comparison->diverging_count > 0; i++) {
        struct pair pair = pairs_get(pairs, i);

        if (pair_diverges(&pair))
            append_divergence(out, &pair);
        if (output_flush_if_much(out, error) != 0)
            return -1;
    }
    return 0;
}

static void append_only(struct buf *out, const struct pairs *pairs, int side)
{
    size_t shown = 0;

    if (pairs->only[side] == 0)
        return;
    buf_printf(out, "only in %c: %zu deliveries\n", "AB"[side], pairs -> only[side]);
    for (size_t i = 0; i < pairs->count && shown < ONLY_SHOWN; i++) {
        struct pair pair = pairs_get(pairs, i);

        if (pair.sides[1 - side].present)
            continue;
        buf_append_string(out, "    ");
        append_name(out, &pair);
        buf_append_byte(out, '\n');
        shown++;
    }
    if (shown < pairs->only[side])
        buf_printf(out, "    and %zu more\n", pairs->only[side] - shown);
}

static void append_usual(struct buf *out, const struct pairs *pairs)
{
    if (pairs->usual[PAIR_TOTAL].count < pairs->both)
        buf_printf(out, "\nfully timed in both, and in what follows: %zu deliveries\n",
                   pairs->usual[PAIR_TOTAL].count);
    buf_printf(out, "\n%-8s%*s%*s%*s   %s\n", "", COLUMN, "A", COLUMN, "B", COLUMN, "B / A",
               "usual for a delivery (half of them lie within)");
    for (int part = 0; part < PAIR_PARTS; part++) {
        const struct pair_usual *usual = &pairs->usual[part];

        buf_printf(out, "%-8s", pair_part_name((enum pair_part)part));
        compare_text_append_time(out, usual->sums[0]);
        compare_text_append_time(out, usual->sums[1]);
        if (usual->sums[0] > 0)
            buf_printf(out, "%*.3f", COLUMN, (double)usual->sums[1] / (double)usual->sums[0]);
        else
            buf_printf(out, "%*s", COLUMN, "?");
        buf_printf(out, "   %.3f (%.3f to %.3f)\n", usual->ratio, usual->ratio / usual->spread,
                   usual->ratio * usual->spread);
    }
}

static void append_ratios(struct buf *out, const struct ranking *ranking)
{
    buf_append_string(out, "\nof a delivery's total, B / A:");
    for (int i = 0; i < RANKING_QUANTILES; i++)
        buf_printf(out, "%s %s %.3f", i > 0 ? "," : "",
                   ranking_quantile_name((enum ranking_quantile)i), ranking->ratios[i]);
    buf_append_byte(out, '\n');
}

/* Deliveries that are among the longest in one file only. */
static void append_moved(struct buf *out, const struct pairs *pairs, const struct ranking *ranking)
{
    for (size_t i = 0; i < ranking->count; i++) {
        const struct ranked *const ranked = &ranking->deliveries[i];
        struct pair pair;

        if ((ranked->ranks[0] < ranking->top) == (ranked->ranks[1] < ranking->top))
            continue;
        pair = pairs_get(pairs, ranked->number);
        buf_printf(out, "%*zu in A, %zu in B:", COLUMN, ranked->ranks[0] + 1, ranked->ranks[1] + 1);
        compare_text_append_time(out, ranked->totals[0]);
        compare_text_append_time(out, ranked->totals[1]);
        buf_append_string(out, "  ");
        append_name(out, &pair);
        buf_append_byte(out, '\n');
    }
}

static void append_ranking(struct buf *out, const struct pairs *pairs,
                           const struct ranking *ranking)
{
    if (ranking->count == 0)
        return;
    append_ratios(out, ranking);
    buf_printf(out,
               "ranking by total: %zu of the %zu longest of A are among the %zu longest of B; "
               "correlation of all ranks %.4f\n",
               ranking->kept, ranking->top, ranking->top, ranking->correlation);
    append_moved(out, pairs, ranking);
    buf_printf(out, "another of pipe, worker and kernel takes most: in %zu of %zu deliveries\n",
               ranking->largest_part_changed, ranking->count);
}

static void append_slower(struct buf *out, const struct pairs *pairs, const struct pair *pair)
{
    enum pair_part where = pair_where(pairs, pair);

    compare_text_append_time(out, pair->sides[0].parts[PAIR_TOTAL]);
    compare_text_append_time(out, pair->sides[1].parts[PAIR_TOTAL]);
    buf_printf(out, "%9.2f x  ", pair_ratio(pair));
    append_change(out, pair_excess(pairs, pair));
    buf_printf(out, ", %s ", pair_part_name(where));
    append_change(out, pair->sides[1].parts[where] - pair->sides[0].parts[where]);
    buf_append_string(out, "  ");
    append_name(out, pair);
    buf_append_byte(out, '\n');
}

static void append_all_slower(struct buf *out, const struct comparison *comparison)
{
    buf_printf(out, "\n%zu deliveries got slower beyond the usual", comparison->slower_count);
    if (comparison->slower_shown < comparison->slower_count)
        buf_printf(out, ", the first %zu", comparison->slower_shown);
    buf_append_string(out, comparison->slower_count > 0 ? ":\n" : "\n");
    for (size_t i = 0; i < comparison->slower_shown; i++) {
        struct pair pair = pairs_get(comparison->pairs, comparison->slower[i].number);

        append_slower(out, comparison->pairs, &pair);
    }
}

int compare_text(struct buf *out, const struct comparison *comparison, struct error *error)
{
    const struct pairs *pairs = comparison->pairs;

    buf_printf(out, "A: %s\nB: %s\n%zu deliveries in both\n", comparison->names[0],
               comparison->names[1], pairs->both);
    append_only(out, pairs, 0);
    append_only(out, pairs, 1);
    if (append_divergences(out, comparison, error) != 0)
        return -1;
    if (comparison->instructions_differ > 0)
        buf_printf(out, "instructions differ in %zu deliveries\n", comparison->instructions_differ);
    if (comparison->costs_differ > 0)
        buf_printf(out, "block cost differs in %zu deliveries\n", comparison->costs_differ);
    append_usual(out, pairs);
    append_ranking(out, pairs, &comparison->ranking);
    append_all_slower(out, comparison);
    return 0;
}
