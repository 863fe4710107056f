/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json/json_member.h"
#include "base/log.h"
#include "base/text/format.h"
#include "tools/command/commands.h"
#include "tools/command/compare_ranking.h"
#include "tools/command/compare_stamps.h"
#include "tools/input/feed.h"
#include "tools/output/output.h"
#include "tools/stats/pairs.h"

/* A delivery that got slower; `number` is its pair. */
struct slower {
    uint32_t number;
    int64_t excess; /* as pair_excess() */
};

/* The result of a comparison. */
struct comparison {
    const struct pairs *pairs;
    const char *names[2]; /* of the files */
    size_t diverging_count, instructions_differ, costs_differ;
    struct slower *slower; /* largest excess first */
    size_t slower_count, slower_shown;
    struct ranking ranking;
};

enum { ONLY_SHOWN = 10, COLUMN = 12 };

static void append_name(struct buf *out, const struct pair *pair)
{
    buf_printf(out, "%s delivery %" PRId64 " ", pair->vat_id, pair->delivery_num);
    buf_append_string(out, pair->description);
}

static void append_both_numbers(struct buf *out, const char *what, double a, double b)
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
        append_both_numbers(out, "computrons", a->compute, b->compute);
}

static int append_pair_divergences(struct buf *out, const struct comparison *comparison,
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
    buf_printf(out, "only in %c: %zu %s\n", "AB"[side], pairs -> only[side],
               format_plural(pairs->only[side], "delivery", "deliveries"));
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

static void append_usual_text(struct buf *out, const struct pairs *pairs)
{
    if (pairs->usual[PAIR_TOTAL].count < pairs->both)
        buf_printf(out, "\nfully timed in both, and in what follows: %zu %s\n",
                   pairs->usual[PAIR_TOTAL].count,
                   format_plural(pairs->usual[PAIR_TOTAL].count, "delivery", "deliveries"));
    buf_printf(out, "\n%-8s%*s%*s%*s   %s\n", "", COLUMN, "A", COLUMN, "B", COLUMN, "B / A",
               "usual for a delivery (half of them lie within)");
    for (int part = 0; part < PAIR_PARTS; part++) {
        const struct pair_usual *usual = &pairs->usual[part];

        buf_printf(out, "%-8s", pair_part_name((enum pair_part)part));
        units_pad_time(out, usual->sums[0], COLUMN);
        units_pad_time(out, usual->sums[1], COLUMN);
        if (usual->sums[0] > 0)
            buf_printf(out, "%*.3f", COLUMN, (double)usual->sums[1] / (double)usual->sums[0]);
        else
            buf_printf(out, "%*s", COLUMN, "?");
        buf_printf(out, "   %.3f (%.3f to %.3f)\n", usual->ratio, usual->ratio / usual->spread,
                   usual->ratio * usual->spread);
    }
}

static const char *ranking_quantile_name(enum ranking_quantile quantile);

static void append_ratios(struct buf *out, const struct ranking *ranking)
{
    buf_append_string(out, "\nof a delivery's total, B / A:");
    for (int i = 0; i < RANKING_QUANTILES; i++)
        buf_printf(out, "%s %s %.3f", i > 0 ? "," : "",
                   ranking_quantile_name((enum ranking_quantile)i), ranking->ratios[i]);
    buf_append_byte(out, '\n');
}

/* Appends deliveries that are among the longest in one file only. */
static void append_moved_ranks(struct buf *out, const struct pairs *pairs,
                               const struct ranking *ranking)
{
    for (size_t i = 0; i < ranking->count; i++) {
        const struct ranked *const ranked = &ranking->deliveries[i];
        struct pair pair;

        if ((ranked->ranks[0] < ranking->top) == (ranked->ranks[1] < ranking->top))
            continue;
        pair = pairs_get(pairs, ranked->number);
        buf_printf(out, "%*zu in A, %zu in B:", COLUMN, ranked->ranks[0] + 1, ranked->ranks[1] + 1);
        units_pad_time(out, ranked->totals[0], COLUMN);
        units_pad_time(out, ranked->totals[1], COLUMN);
        buf_append_string(out, "  ");
        append_name(out, &pair);
        buf_append_byte(out, '\n');
    }
}

static void append_ranking_text(struct buf *out, const struct pairs *pairs,
                                const struct ranking *ranking)
{
    if (ranking->count == 0)
        return;
    append_ratios(out, ranking);
    buf_printf(out,
               "ranking by total: %zu of the %zu longest of A are among the %zu longest of B; "
               "correlation of all ranks %.4f\n",
               ranking->kept, ranking->top, ranking->top, ranking->correlation);
    append_moved_ranks(out, pairs, ranking);
    buf_printf(out, "another of pipe, worker and kernel takes most: in %zu of %zu %s\n",
               ranking->largest_part_changed, ranking->count,
               format_plural(ranking->count, "delivery", "deliveries"));
}

static void append_slower(struct buf *out, const struct pairs *pairs, const struct pair *pair)
{
    enum pair_part where = pair_where(pairs, pair);

    units_pad_time(out, pair->sides[0].parts[PAIR_TOTAL], COLUMN);
    units_pad_time(out, pair->sides[1].parts[PAIR_TOTAL], COLUMN);
    buf_printf(out, "%9.2f x  ", pair_ratio(pair));
    units_pad_change(out, pair_excess(pairs, pair), 0);
    buf_printf(out, ", %s ", pair_part_name(where));
    units_pad_change(out, pair->sides[1].parts[where] - pair->sides[0].parts[where], 0);
    buf_append_string(out, "  ");
    append_name(out, pair);
    buf_append_byte(out, '\n');
}

static void append_all_slower(struct buf *out, const struct comparison *comparison)
{
    buf_printf(out, "\n%zu %s got slower beyond the usual", comparison->slower_count,
               format_plural(comparison->slower_count, "delivery", "deliveries"));
    if (comparison->slower_shown < comparison->slower_count)
        buf_printf(out, ", the first %zu", comparison->slower_shown);
    buf_append_string(out, comparison->slower_count > 0 ? ":\n" : "\n");
    for (size_t i = 0; i < comparison->slower_shown; i++) {
        struct pair pair = pairs_get(comparison->pairs, comparison->slower[i].number);

        append_slower(out, comparison->pairs, &pair);
    }
}

/* With the command that compares what has nothing in common. */
#define NOTHING_IN_COMMON                                                                          \
    "no delivery is in both files, by its vat and number; `slogreport summary --against A B` "     \
    "compares their sums"

/* Prints to standard output as `out` grows, and leaves the rest in `out`. */
static int compare_text(struct buf *out, const struct comparison *comparison, struct error *error)
{
    const struct pairs *pairs = comparison->pairs;

    buf_printf(out, "A: %s\nB: %s\n%zu %s in both\n", comparison->names[0], comparison->names[1],
               pairs->both, format_plural(pairs->both, "delivery", "deliveries"));
    append_only(out, pairs, 0);
    append_only(out, pairs, 1);
    if (pairs->both == 0) {
        if (pairs->count > 0)
            buf_append_string(out, "\n" NOTHING_IN_COMMON "\n");
        return 0;
    }
    if (append_pair_divergences(out, comparison, error) != 0)
        return -1;
    if (comparison->instructions_differ > 0)
        buf_printf(out, "instructions differ in %zu %s\n", comparison->instructions_differ,
                   format_plural(comparison->instructions_differ, "delivery", "deliveries"));
    if (comparison->costs_differ > 0)
        buf_printf(out, "block cost differs in %zu %s\n", comparison->costs_differ,
                   format_plural(comparison->costs_differ, "delivery", "deliveries"));
    append_usual_text(out, pairs);
    append_ranking_text(out, pairs, &comparison->ranking);
    append_all_slower(out, comparison);
    return 0;
}

static void append_json_side(struct buf *out, const char *name, const struct pair_side *side)
{
    if (!side->present) {
        json_member_null(out, name);
        return;
    }
    json_member(out, name);
    buf_printf(out, "{\"status\":\"%s\",\"syscalls\":%zu", side->ok ? "ok" : "error",
               side->syscalls);
    for (int part = 0; part < PAIR_PARTS; part++)
        json_member_seconds(out, pair_part_name((enum pair_part)part), side->parts[part]);
    json_member_number(out, "compute", side->compute);
    json_member_number(out, "instructions", side->instructions);
    if (!isnan(side->block_cost))
        json_member_number(out, "blockCost", side->block_cost);
    buf_append_byte(out, '}');
}

static void append_differences(struct buf *out, unsigned differences)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{PAIR_INPUT, "input"},
                 {PAIR_RESULT, "result"},
                 {PAIR_SYSCALLS, "syscalls"},
                 {PAIR_COMPUTE, "compute"},
                 {PAIR_INSTRUCTIONS, "instructions"},
                 {PAIR_BLOCK_COST, "blockCost"}};
    const char *separator = "";

    buf_append_string(out, ",\"differs\":[");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if ((differences & names[i].bit) == 0)
            continue;
        buf_printf(out, "%s\"%s\"", separator, names[i].name);
        separator = ",";
    }
    buf_append_byte(out, ']');
}

static void append_pair(struct buf *out, const struct pairs *pairs, const struct pair *pair)
{
    double ratio = pair_ratio(pair);
    bool timed = !isnan(ratio);

    buf_append_string(out, "{\"kind\":\"pair\"");
    json_member_text(out, "vatID", pair->vat_id);
    buf_printf(out, ",\"deliveryNum\":%" PRId64, pair->delivery_num);
    json_member_text(out, "description", pair->description);
    append_differences(out, pair->differences);
    json_member_number(out, "ratio", ratio);
    json_member_seconds(out, "excess", timed ? pair_excess(pairs, pair) : MODEL_NONE);
    buf_printf(out, ",\"slower\":%s", pair_is_slower(pairs, pair) ? "true" : "false");
    if (timed)
        json_member_text(out, "where", pair_part_name(pair_where(pairs, pair)));
    else
        json_member_null(out, "where");
    append_json_side(out, "a", &pair->sides[0]);
    append_json_side(out, "b", &pair->sides[1]);
    buf_append(out, "}\n", 2);
}

static void append_usual_json(struct buf *out, const char *name, const struct pair_usual *usual)
{
    buf_printf(out, ",\"%s\":{\"count\":%zu", name, usual->count);
    json_member_seconds(out, "a", usual->sums[0]);
    json_member_seconds(out, "b", usual->sums[1]);
    buf_printf(out, ",\"ratio\":%.6f,\"spread\":%.6f}", usual->ratio, usual->spread);
}

static void append_ranking_json(struct buf *out, const struct ranking *ranking)
{
    static const char *const names[RANKING_QUANTILES] = {
        [RANKING_LEAST] = "least", [RANKING_TENTH] = "p10",       [RANKING_HALF] = "p50",
        [RANKING_NINETY] = "p90",  [RANKING_NINETY_NINE] = "p99", [RANKING_MOST] = "most",
    };

    if (ranking->count == 0)
        return;
    buf_append_string(out, ",\"ratios\":{");
    for (int i = 0; i < RANKING_QUANTILES; i++)
        buf_printf(out, "%s\"%s\":%.6f", i > 0 ? "," : "", names[i], ranking->ratios[i]);
    buf_printf(out,
               "},\"ranking\":{\"correlation\":%.6f,\"top\":%zu,\"kept\":%zu,"
               "\"largestPartChanged\":%zu}",
               ranking->correlation, ranking->top, ranking->kept, ranking->largest_part_changed);
}

static int compare_json(struct buf *out, const struct comparison *comparison, struct error *error)
{
    const struct pairs *pairs = comparison->pairs;

    for (size_t i = 0; i < pairs->count; i++) {
        struct pair pair = pairs_get(pairs, i);

        append_pair(out, pairs, &pair);
        if (output_flush_if_much(out, error) != 0)
            return -1;
    }
    buf_append_string(out, "{\"kind\":\"comparison\"");
    json_member_text(out, "a", comparison->names[0]);
    json_member_text(out, "b", comparison->names[1]);
    buf_printf(out,
               ",\"both\":%zu,\"onlyA\":%zu,\"onlyB\":%zu,\"diverging\":%zu,"
               "\"instructionsDiffer\":%zu,\"slower\":%zu",
               pairs->both, pairs->only[0], pairs->only[1], comparison->diverging_count,
               comparison->instructions_differ, comparison->slower_count);
    for (int part = 0; part < PAIR_PARTS; part++)
        append_usual_json(out, pair_part_name((enum pair_part)part), &pairs->usual[part]);
    append_ranking_json(out, &comparison->ranking);
    buf_append(out, "}\n", 2);
    return 0;
}

/* Slower deliveries listed without --top. */
enum { SLOWER_SHOWN = 20 };

struct reading {
    const struct options *options;
    struct pairs *pairs;
    int side;
    bool client;     /* has stamps of a worker's client */
    uint64_t chosen; /* deliveries */
};

/* Deliveries of both files. */
struct compared_counts {
    uint64_t chosen, all;
};

static int compare_on_delivery(void *context, const struct model_delivery *delivery,
                               struct error *error)
{
    struct reading *reading = context;

    reading->client |= delivery->client_pipe != 0;
    if (!selection_takes(&reading->options->selection, delivery))
        return 0;
    reading->chosen++;
    return pairs_add(reading->pairs, reading->side, delivery, error);
}

static int compare_read_side(const struct options *options, struct pairs *pairs, int side,
                             struct compare_stamps *stamps, struct compared_counts *counts,
                             struct error *error)
{
    struct reading reading = {.options = options, .pairs = pairs, .side = side};
    char *files[] = {options->files[side], NULL};
    struct feed feed = options_feed(options);
    struct tally tally;
    int result;

    feed.files = files;
    feed.vats = NULL;   /* another file may have it */
    feed.labels = true; /* needed for the digest of syscalls */
    feed.sink = (struct model_sink){.delivery = compare_on_delivery, .context = &reading};
    result = feed_run(&feed, &tally, error);
    if (result == 0 && !options->selection.runs.set)
        explain_runs(&tally.totals, options->files[side],
                     "are in it, and of deliveries of one number the last counts");
    counts->chosen += reading.chosen;
    counts->all += tally.totals.deliveries;
    tally_free(&tally);
    return result == 0
               ? compare_stamps_add(stamps, options, options->files[side], reading.client, error)
               : -1;
}

/* The largest excess first; equals in file order. */
static int compare_pair_excess(const void *a, const void *b)
{
    const struct slower *left = a, *right = b;

    if (left->excess != right->excess)
        return left->excess > right->excess ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static int add_slower(struct comparison *comparison, size_t *capacity, size_t number,
                      const struct pair *pair)
{
    struct slower *slower =
        array_reserve(comparison->slower, capacity, comparison->slower_count + 1, sizeof *slower);

    if (slower == NULL)
        return -1;
    comparison->slower = slower;
    slower[comparison->slower_count++] =
        (struct slower){(uint32_t)number, pair_excess(comparison->pairs, pair)};
    return 0;
}

static int find_differences(struct comparison *comparison, const struct options *options,
                            struct error *error)
{
    const struct pairs *pairs = comparison->pairs;
    size_t shown = options->top > 0 ? options->top : SLOWER_SHOWN, capacity = 0;

    for (size_t i = 0; i < pairs->count; i++) {
        struct pair pair = pairs_get(pairs, i);

        comparison->diverging_count += pair_diverges(&pair);
        comparison->instructions_differ += (pair.differences & PAIR_INSTRUCTIONS) != 0;
        comparison->costs_differ += (pair.differences & PAIR_BLOCK_COST) != 0;
        if (pair_is_slower(pairs, &pair) && add_slower(comparison, &capacity, i, &pair) != 0)
            return error_memory(error, "the deliveries to compare");
    }
    if (comparison->slower_count > 0)
        qsort(comparison->slower, comparison->slower_count, sizeof(struct slower),
              compare_pair_excess);
    comparison->slower_shown = comparison->slower_count < shown ? comparison->slower_count : shown;
    return 0;
}

static int write_comparison(const struct comparison *comparison, bool json, struct error *error)
{
    struct buf out = {0};
    int result = (json ? compare_json : compare_text)(&out, comparison, error);

    if (result == 0)
        result = output_flush(&out, error);
    buf_free(&out);
    return result;
}

static int compare_sides(const struct options *options, struct pairs *pairs, struct error *error)
{
    struct comparison comparison = {.pairs = pairs,
                                    .names = {options->files[0], options->files[1]}};
    int result = -1;

    if (ranking_make(&comparison.ranking, pairs, error) == 0 &&
        find_differences(&comparison, options, error) == 0)
        result = write_comparison(&comparison, options->json, error);
    if (result == 0 && pairs->both == 0 && pairs->count > 0 && options->json)
        log_line(NOTHING_IN_COMMON);
    if (result == 0 && comparison.diverging_count > 0)
        result = error_set(error, ERROR_DELIVERY, "%zu %s came out differently",
                           comparison.diverging_count,
                           format_plural(comparison.diverging_count, "delivery", "deliveries"));
    ranking_free(&comparison.ranking);
    free(comparison.slower);
    return result;
}

int compare_run(const struct options *options, struct error *error)
{
    struct compare_stamps stamps = {0};
    struct compared_counts counts = {0};
    struct pairs pairs = {0};
    int result = -1;

    if (options->files[2] != NULL)
        return compare_many_run(options, error);
    if (compare_read_side(options, &pairs, 0, &stamps, &counts, error) == 0 &&
        compare_read_side(options, &pairs, 1, &stamps, &counts, error) == 0 &&
        pairs_compute(&pairs, error) == 0)
        result = compare_sides(options, &pairs, error);
    if (result == 0)
        selection_explain(&options->selection, counts.chosen, counts.all);
    pairs_free(&pairs);
    return result;
}

/* Deliveries in the ranking's top, but no more than a quarter of all. */
enum { RANKING_TOP = 20 };

static const struct {
    const char *name;
    double share;
} quantiles[RANKING_QUANTILES] = {
    [RANKING_LEAST] = {"least", 0},         [RANKING_TENTH] = {"10 %", 0.1},
    [RANKING_HALF] = {"half", 0.5},         [RANKING_NINETY] = {"90 %", 0.9},
    [RANKING_NINETY_NINE] = {"99 %", 0.99}, [RANKING_MOST] = {"most", 1},
};

/* "10 %", ... */
static const char *ranking_quantile_name(enum ranking_quantile quantile)
{
    return quantiles[quantile].name;
}

static int ranking_order(const struct ranked *a, const struct ranked *b, int side)
{
    if (a->totals[side] != b->totals[side])
        return a->totals[side] > b->totals[side] ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int by_a(const void *a, const void *b)
{
    return ranking_order(a, b, 0);
}

static int by_b(const void *a, const void *b)
{
    return ranking_order(a, b, 1);
}

static int by_ratio(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;

    return left < right ? -1 : left > right;
}

static enum pair_part largest_part(const struct pair_side *side)
{
    enum pair_part largest = PAIR_PIPE;

    for (int part = PAIR_PIPE; part < PAIR_PARTS; part++)
        if (side->parts[part] > side->parts[largest])
            largest = (enum pair_part)part;
    return largest;
}

/* Collects the deliveries timed in both files, with their ratios. */
static void ranking_collect(struct ranking *ranking, const struct pairs *pairs, double *ratios)
{
    for (size_t i = 0; i < pairs->count; i++) {
        const struct pair pair = pairs_get(pairs, i);
        const double ratio = pair_ratio(&pair);

        if (isnan(ratio))
            continue;
        ratios[ranking->count] = ratio;
        ranking->largest_part_changed +=
            largest_part(&pair.sides[0]) != largest_part(&pair.sides[1]);
        ranking->deliveries[ranking->count++] = (struct ranked){
            .number = (uint32_t)i,
            .totals = {pair.sides[0].parts[PAIR_TOTAL], pair.sides[1].parts[PAIR_TOTAL]},
        };
    }
}

static void ranking_find_quantiles(struct ranking *ranking, double *ratios)
{
    qsort(ratios, ranking->count, sizeof *ratios, by_ratio);
    for (int i = 0; i < RANKING_QUANTILES; i++) {
        const double at = ceil(quantiles[i].share * (double)ranking->count);

        ranking->ratios[i] = ratios[at > 0 ? (size_t)at - 1 : 0];
    }
}

static void rank_side(struct ranking *ranking, int side)
{
    qsort(ranking->deliveries, ranking->count, sizeof *ranking->deliveries,
          side == 0 ? by_a : by_b);
    for (size_t i = 0; i < ranking->count; i++)
        ranking->deliveries[i].ranks[side] = i;
}

static void ranking_judge(struct ranking *ranking)
{
    const double count = (double)ranking->count;
    double squares = 0;

    ranking->top = (ranking->count + 3) / 4;
    if (ranking->top > RANKING_TOP)
        ranking->top = RANKING_TOP;
    for (size_t i = 0; i < ranking->count; i++) {
        const struct ranked *const delivery = &ranking->deliveries[i];
        const double moved = (double)delivery->ranks[0] - (double)delivery->ranks[1];

        squares += moved * moved;
        ranking->kept += delivery->ranks[0] < ranking->top && delivery->ranks[1] < ranking->top;
    }
    ranking->correlation = ranking->count < 2 ? 1 : 1 - 6 * squares / (count * (count * count - 1));
}

int ranking_make(struct ranking *ranking, const struct pairs *pairs, struct error *error)
{
    double *const ratios = calloc(pairs->count + 1, sizeof *ratios);

    *ranking = (struct ranking){.deliveries = calloc(pairs->count + 1, sizeof(struct ranked))};
    if (ratios == NULL || ranking->deliveries == NULL) {
        free(ratios);
        return error_memory(error, "the deliveries to compare");
    }
    ranking_collect(ranking, pairs, ratios);
    if (ranking->count > 0) {
        ranking_find_quantiles(ranking, ratios);
        rank_side(ranking, 1);
        rank_side(ranking, 0);
        ranking_judge(ranking);
    }
    free(ratios);
    return 0;
}

void ranking_free(struct ranking *ranking)
{
    free(ranking->deliveries);
    *ranking = (struct ranking){0};
}
