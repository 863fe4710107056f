/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/overview.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command/stall_words.h"
#include "tools/output/output.h"
#include "tools/stats/delivery_rows.h"

/* Rows of each list. Of the stalls of one class, so many are kept to group them by cause. */
enum { ROWS = 5, PHASE_ROWS = 6, STALLS_KEPT = 1000, STALL_CAUSES = 16 };

static const struct delivery_rows_extra no_extra;

void overview_count(struct overview_counts *counts, const struct model_delivery *delivery)
{
    const int64_t unknown = delivery->unattributed > 0 ? delivery->unattributed : 0;

    if (delivery->replay)
        return;
    counts->deliveries++;
    counts->failed += delivery->status == MODEL_ERROR;
    counts->cpu_wait += delivery->cpu_wait > 0 ? delivery->cpu_wait : 0;
    counts->worker_cpu_wait += delivery->worker_cpu_wait > 0 ? delivery->worker_cpu_wait : 0;
    if (!delivery->clock_changed) {
        const struct model_waits waits = model_waits_of(delivery);

        model_waits_add(&counts->waits, &waits);
    }
    counts->loose += delivery->coverage == MODEL_LOOSE;
    if (delivery->coverage == MODEL_CUT) {
        counts->cut++;
        counts->cut_unattributed += unknown;
    } else if (delivery->coverage == MODEL_BARE) {
        counts->bare++;
        counts->bare_unattributed += unknown;
    }
}

void overview_init(struct overview *overview)
{
    *overview = (struct overview){.slowest = {.top = ROWS, .column = rank_find_column("total")},
                                  .outliers.keep = STALLS_KEPT,
                                  .outliers.least = STALL_LEAST};
}

int overview_add(struct overview *overview, const struct model_delivery *delivery, bool wanted,
                 struct error *error)
{
    struct rank_entry *row;
    int kept;

    if (outliers_add(&overview->outliers, delivery, wanted, error) != 0)
        return -1;
    if (!wanted)
        return 0;
    overview_count(&overview->counts, delivery);
    if (delivery->replay || delivery->total == MODEL_NONE)
        return 0;
    kept = rank_add(&overview->slowest, delivery, &row, error);
    if (kept <= 0)
        return kept;
    delivery_rows_render(row, delivery, &no_extra);
    return buf_failed(&row->text) ? error_memory(error, "the slowest deliveries") : 0;
}

/* ---- where the time went ------------------------------------------------ */

static const struct group *find_all(const struct groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        if (groups->groups[i].kind == GROUP_ALL)
            return &groups->groups[i];
    return NULL;
}

/* Phases other than deliveries, whose parts are shown instead. */
static bool is_shown_phase(const struct group *group)
{
    return group->kind == GROUP_PHASE && strcmp(group->name, phase_name(PHASE_DELIVERY)) != 0 &&
           group->columns[COLUMN_TOTAL].total > 0;
}

static void append_line(struct buf *out, int indent, const char *name, uint64_t time,
                        uint64_t whole)
{
    char text[UNITS_SIZE];

    buf_printf(out, "%*s%-*s", indent, "", 26 - indent, name);
    units_time(text, time);
    units_pad(out, text, 11);
    buf_printf(out, "%7.1f %%\n", whole > 0 ? 100 * (double)time / (double)whole : 0);
}

/* The parts without the waits for a CPU, which are parts of their own: all add up to the total. */
static void append_parts(struct buf *out, const struct overview_counts *counts,
                         const struct group *all, uint64_t whole)
{
    const struct model_waits *waits = &counts->waits;
    const struct {
        enum group_column column;
        const char *name;
        int64_t waited;
    } parts[] = {{COLUMN_UP, "pipe, worker to kernel", waits->up},
                 {COLUMN_DOWN, "pipe, kernel to worker", waits->down},
                 {COLUMN_WORKER, "worker", waits->worker},
                 {COLUMN_KERNEL, "kernel", waits->kernel},
                 {COLUMN_UNATTRIBUTED, "unattributed", 0}};

    append_line(out, 0, "deliveries", all->columns[COLUMN_TOTAL].total, whole);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (all->columns[parts[i].column].total > 0)
            append_line(out, 2, parts[i].name,
                        all->columns[parts[i].column].total - (uint64_t)parts[i].waited, whole);
    if (waits->by_gaspipe > 0)
        append_line(out, 2, "no CPU for gaspipe", (uint64_t)waits->by_gaspipe, whole);
    if (waits->by_worker > 0)
        append_line(out, 2, "no CPU for workers", (uint64_t)waits->by_worker, whole);
}

static int by_time(const void *a, const void *b)
{
    const struct group *left = *(const struct group *const *)a;
    const struct group *right = *(const struct group *const *)b;
    const uint64_t left_time = left->columns[COLUMN_TOTAL].total;
    const uint64_t right_time = right->columns[COLUMN_TOTAL].total;

    if (left_time != right_time)
        return left_time > right_time ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* The groups that `wanted` accepts, the longest first; NULL when out of memory. To be freed. */
static const struct group **longest_groups(const struct groups *groups,
                                           bool (*wanted)(const struct group *group), size_t *count)
{
    const struct group **found = calloc(groups->count + 1, sizeof(struct group *));

    *count = 0;
    for (size_t i = 0; found != NULL && i < groups->count; i++)
        if (wanted(&groups->groups[i]))
            found[(*count)++] = &groups->groups[i];
    if (found != NULL)
        qsort(found, *count, sizeof(struct group *), by_time);
    return found;
}

static void append_overview_phases(struct buf *out, const struct group **phases, size_t count,
                                   uint64_t whole)
{
    uint64_t rest = 0;

    for (size_t i = 0; i < count; i++) {
        if (i < PHASE_ROWS - 1 || count == PHASE_ROWS)
            append_line(out, 0, phases[i]->name, phases[i]->columns[COLUMN_TOTAL].total, whole);
        else
            rest += phases[i]->columns[COLUMN_TOTAL].total;
    }
    if (rest > 0)
        append_line(out, 0, "other phases", rest, whole);
}

static void append_overview_counts(struct buf *out, const struct overview_counts *counts,
                                   const struct group *all, uint64_t whole)
{
    static const struct {
        enum group_column column;
        const char *unit;
    } costs[] = {{COLUMN_COMPUTE, "computrons"},
                 {COLUMN_INSTRUCTIONS, "instructions"},
                 {COLUMN_BLOCK_COST, "block cost"},
                 {COLUMN_GAS_BURNT, "gas burnt"},
                 {COLUMN_GAS, "gas"}};
    char text[UNITS_SIZE];

    units_time(text, whole);
    buf_printf(out, "%" PRIu64 " deliver%s, %" PRIu64 " failed, in %s", counts->deliveries,
               counts->deliveries == 1 ? "y" : "ies", counts->failed, text);
    for (size_t i = 0; all != NULL && i < sizeof costs / sizeof *costs; i++) {
        if (all->columns[costs[i].column].total == 0)
            continue;
        units_count(text, all->columns[costs[i].column].total);
        buf_printf(out, "; %s %s", text, costs[i].unit);
    }
    buf_append_byte(out, '\n');
    if (all != NULL && all->columns[COLUMN_QUEUED].total > 0) {
        units_time(text, all->columns[COLUMN_QUEUED].total);
        buf_printf(out, "queued %s in all\n", text);
    }
}

void overview_append_totals(struct buf *out, const struct groups *groups,
                            const struct overview_counts *counts)
{
    const struct group *all = find_all(groups);
    size_t count;
    const struct group **phases = longest_groups(groups, is_shown_phase, &count);
    uint64_t whole = all != NULL ? all->columns[COLUMN_TOTAL].total : 0;

    if (phases == NULL) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        whole += phases[i]->columns[COLUMN_TOTAL].total;
    append_overview_counts(out, counts, all, whole);
    if (all != NULL)
        append_parts(out, counts, all, whole);
    append_overview_phases(out, phases, count, whole);
    free(phases);
}

/* ---- vats --------------------------------------------------------------- */

static bool is_vat(const struct group *group)
{
    return group->kind == GROUP_VAT;
}

static void append_vat(struct buf *out, const struct group *vat, int64_t waits)
{
    const struct histogram *columns = vat->columns;
    const struct model_waits *waited = &vat->waits;
    size_t start = out->length;

    buf_printf(out, "  %s %s", vat->name, vat->label);
    do
        buf_append_byte(out, ' ');
    while (!buf_failed(out) && out->length - start < 22);
    buf_printf(out, "%11" PRIu64, columns[COLUMN_TOTAL].count);
    units_pad_time(out, (int64_t)columns[COLUMN_TOTAL].total, 11);
    units_pad_time(out,
                   (int64_t)columns[COLUMN_UP].total - waited->up +
                       (int64_t)columns[COLUMN_DOWN].total - waited->down,
                   11);
    units_pad_time(out, (int64_t)columns[COLUMN_WORKER].total - waited->worker, 11);
    units_pad_time(out, (int64_t)columns[COLUMN_KERNEL].total - waited->kernel, 11);
    if (waits > 0)
        units_pad_time(out, waited->by_gaspipe + waited->by_worker, 11);
    buf_append_byte(out, '\n');
}

/* `waits`: of all vats for a CPU; 0: no column shows them. */
static void append_vats(struct buf *out, const struct groups *groups, int64_t waits)
{
    size_t count;
    const struct group **vats = longest_groups(groups, is_vat, &count);

    if (vats == NULL) {
        out->failed = true;
        return;
    }
    if (count > 0)
        buf_printf(out, "\n%-22s%11s%11s%11s%11s%11s%s\n", "vats", "deliveries", "total", "pipe",
                   "worker", "kernel", waits > 0 ? "     no CPU" : "");
    for (size_t i = 0; i < count && i < ROWS; i++)
        append_vat(out, vats[i], waits);
    if (count > ROWS)
        buf_printf(out, "  and %zu more (--by vat)\n", count - ROWS);
    free(vats);
}

/* ---- stalls by cause ---------------------------------------------------- */

struct stall_cause {
    const char *words;
    uint64_t count;
    int64_t lost;
};

static void add_to_cause(struct stall_cause *causes, size_t *count, const struct outlier *outlier)
{
    const char *words = stall_words(outlier);
    size_t i = 0;

    while (i < *count && strcmp(causes[i].words, words) != 0)
        i++;
    if (i == STALL_CAUSES)
        return;
    if (i == *count)
        causes[(*count)++] = (struct stall_cause){.words = words};
    causes[i].count++;
    causes[i].lost += outlier->took - outlier->usual;
}

static int by_loss(const void *a, const void *b)
{
    const struct stall_cause *left = a, *right = b;

    return left->lost > right->lost ? -1 : left->lost < right->lost;
}

static int append_stall_causes(struct buf *out, struct outliers *outliers, struct error *error)
{
    struct stall_cause causes[STALL_CAUSES] = {0};
    size_t shown, count = 0;
    uint64_t all;
    struct outlier **found = outliers_find(outliers, &shown, &all, error);

    if (found == NULL)
        return -1;
    for (size_t i = 0; i < shown; i++)
        add_to_cause(causes, &count, found[i]);
    free(found);
    qsort(causes, count, sizeof *causes, by_loss);
    buf_printf(out, "\n%" PRIu64 " stall%s%s", all, all == 1 ? "" : "s",
               count > 0 ? ", time lost beyond the usual (slogreport stalls lists them)\n" : "\n");
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%7" PRIu64, causes[i].count);
        units_pad_time(out, causes[i].lost, 11);
        buf_printf(out, "  %s\n", causes[i].words);
    }
    return 0;
}

/* ---- all of it ---------------------------------------------------------- */

static void append_warning(struct buf *out, uint64_t count, const char *what, int64_t time)
{
    if (count == 0)
        return;
    buf_printf(out, "warning: %" PRIu64 " deliver%s %s", count, count == 1 ? "y" : "ies", what);
    if (time > 0) {
        buf_append_string(out, "; ");
        units_pad_time(out, time, 0);
        buf_append_string(out, " unattributed");
    }
    buf_append_byte(out, '\n');
}

int overview_append(struct buf *out, struct overview *overview, const struct groups *groups,
                    struct error *error)
{
    const struct overview_counts *counts = &overview->counts;

    overview_append_totals(out, groups, counts);
    rank_sort(&overview->slowest);
    if (overview->slowest.count > 0) {
        buf_append_string(out, "\nslowest deliveries\n");
        if (delivery_rows_append(out, &overview->slowest, &no_extra, error) != 0)
            return -1;
    }
    append_vats(out, groups, counts->waits.by_gaspipe + counts->waits.by_worker);
    if (append_stall_causes(out, &overview->outliers, error) != 0)
        return -1;
    append_warning(out, counts->cut, "with more stamps than the worker keeps",
                   counts->cut_unattributed);
    append_warning(out, counts->bare, "without stamps", counts->bare_unattributed);
    append_warning(out, counts->loose, "whose stamps match no requests", 0);
    append_warning(out, groups->spoiled, "left out, since the clock was set within them", 0);
    return 0;
}

void overview_free(struct overview *overview)
{
    rank_free(&overview->slowest);
    outliers_free(&overview->outliers);
}
