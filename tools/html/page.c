/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/html/page.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/json/json_member.h"
#include "base/json/json_text.h"
#include "slog/read/names.h"
#include "tools/html/page_deliveries.h"
#include "tools/input/profile_tree.h"
#include "tools/stats/groups.h"
#include "tools/stats/growth.h"
#include "tools/stats/outliers.h"

enum { PAGE_STALLS = 200, PAGE_NOTES = 1000, PAGE_PHASES = 100 * 1000 };

/* JavaScript's numbers are exact up to here. */
#define FARTHEST ((int64_t)1 << 53)

struct page_branch {
    uint64_t count;
    uint64_t times[MODEL_SPAN_KINDS];
    double compute, instructions;
};

/* The time of all live deliveries by vat, kind of delivery and kind of syscall, for the icicle.
 * Leaves out deliveries in which the clock was set, like groups_add(). Each combination takes some
 * hundred bytes. */
struct page_tree {
    struct names keys;
    struct page_branch *branches; /* by number in keys; owned */
    size_t count, capacity;
};

struct page_phase {
    enum phase phase;
    int64_t start, total, own;
    char name[PHASE_NAME_SIZE], vat_id[PHASE_NAME_SIZE];
};

/* A page's phases except cranks and deliveries. All zeros is empty. */
struct page_phases {
    struct page_phase *phases; /* owned */
    size_t count, capacity;
    uint64_t hidden; /* beyond PAGE_PHASES */
};

/* The calls of deliveries, from gaspipe's profiles (docs/profile-format.md, "tree"). */
struct page_profiles {
    uint64_t trees;  /* put on the page */
    uint64_t hidden; /* that did not fit */
    uint64_t bytes;  /* of those on the page */
};

/* The beginning of a branch's key; the kind of syscall follows, or nothing. */
struct key_head {
    uint32_t vat, kind;
};

/* Finds or adds a branch; NULL when out of memory. */
static struct page_branch *find_branch(struct page_tree *tree, struct key_head head,
                                       const char *syscall)
{
    struct page_branch *branches;
    struct buf key = {0};
    uint32_t number;

    buf_append(&key, &head, sizeof head);
    buf_append_string(&key, syscall);
    number = buf_failed(&key) ? NAMES_NONE : names_intern(&tree->keys, key.data, key.length);
    buf_free(&key);
    if (number == NAMES_NONE)
        return NULL;
    if (number < tree->count)
        return &tree->branches[number];
    branches = array_reserve(tree->branches, &tree->capacity, tree->count + 1, sizeof *branches);
    if (branches == NULL)
        return NULL;
    tree->branches = branches;
    branches[tree->count] = (struct page_branch){0};
    return &branches[tree->count++];
}

static int page_tree_add_span(struct page_tree *tree, struct key_head head,
                              const struct model_delivery *delivery, const struct model_span *span)
{
    const char *syscall = span->event != UINT32_MAX ? delivery->events[span->event].kind : "";
    struct page_branch *branch = find_branch(tree, head, syscall);

    if (branch == NULL)
        return -1;
    branch->count += span->kind == MODEL_UP;
    branch->times[span->kind] += (uint64_t)(span->to - span->from);
    return 0;
}

/* Adds a delivery; `vat` and `kind` are numbers of the page's tables. -1 when out of memory. */
static int page_tree_add(struct page_tree *tree, const struct model_delivery *delivery,
                         uint32_t vat, uint32_t kind)
{
    struct key_head head = {vat, kind};
    struct page_branch *branch;

    if (delivery->replay || delivery->clock_changed)
        return 0;
    branch = find_branch(tree, head, "");
    if (branch == NULL)
        return -1;
    branch->count++;
    branch->compute += isnan(delivery->compute) ? 0 : delivery->compute;
    branch->instructions += isnan(delivery->instructions) ? 0 : delivery->instructions;
    if (delivery->span_count == 0)
        branch->times[MODEL_UNKNOWN] += (uint64_t)delivery->total;
    for (size_t i = 0; i < delivery->span_count; i++) {
        if (page_tree_add_span(tree, head, delivery, &delivery->spans[i]) != 0)
            return -1;
    }
    return 0;
}

/*
 * Appends a JSON array of branches: [vat, kind, syscall or null, count, nanoseconds of each enum
 * model_span_kind, computrons, instructions]. With null, the numbers are of no syscall and the
 * count is of deliveries.
 */
static void page_tree_append(const struct page_tree *tree, struct buf *json)
{
    for (size_t i = 0; i < tree->count; i++) {
        const struct page_branch *branch = &tree->branches[i];
        const struct name *key = &tree->keys.names[i];
        struct key_head head;

        memcpy(&head, key->text, sizeof head);
        buf_printf(json, "%s[%" PRIu32 ",%" PRIu32 ",", i > 0 ? "," : "[", head.vat, head.kind);
        if (key->length > sizeof head)
            json_text_string(json, key->text + sizeof head, key->length - sizeof head);
        else
            buf_append_string(json, "null");
        buf_printf(json, ",%" PRIu64 ",[", branch->count);
        for (int kind = 0; kind < MODEL_SPAN_KINDS; kind++)
            buf_printf(json, "%s%" PRIu64, kind > 0 ? "," : "", branch->times[kind]);
        buf_printf(json, "],%.17g,%.17g]", branch->compute, branch->instructions);
    }
    buf_append_string(json, tree->count > 0 ? "]" : "[]");
}

static void page_tree_free(struct page_tree *tree)
{
    free(tree->branches);
    names_free(&tree->keys);
    *tree = (struct page_tree){0};
}

/* Writes JSON about all deliveries for page.js. Times are nanoseconds. */

enum { FINE_BUCKETS = 8 };

/* Joins eight buckets of the histogram into one of the page. */
static void append_buckets(struct buf *json, const struct histogram *histogram)
{
    buf_append_byte(json, '[');
    for (size_t i = 0; i < histogram->bucket_count;) {
        uint32_t number = histogram->buckets[i].index / FINE_BUCKETS;
        uint64_t count = 0;

        buf_printf(json, "%s[%" PRIu32 ",", i > 0 ? "," : "", number);
        for (; i < histogram->bucket_count && histogram->buckets[i].index / FINE_BUCKETS == number;
             i++)
            count += histogram->buckets[i].count;
        buf_printf(json, "%" PRIu64 "]", count);
    }
    buf_append_byte(json, ']');
}

static void append_page_column(struct buf *json, enum group_column column,
                               const struct histogram *histogram)
{
    buf_printf(json, "\"%s\":[%" PRIu64 ",%" PRIu64, group_column_name(column), histogram->count,
               histogram->total);
    buf_printf(json, ",%" PRIu64 ",%" PRIu64, histogram_quantile(histogram, 0.5),
               histogram_quantile(histogram, 0.9));
    buf_printf(json, ",%" PRIu64 ",%" PRIu64 ",", histogram_quantile(histogram, 0.99),
               histogram->maximum);
    append_buckets(json, histogram);
    buf_append_byte(json, ']');
}

static void append_group(struct buf *json, const struct group *group)
{
    const struct model_waits *waits = &group->waits;
    bool any = false;

    buf_printf(json, "{\"by\":\"%s\"", group_kind_name(group->kind));
    json_member_text(json, "name", group->name);
    json_member_text(json, "label", group->label);
    buf_append_string(json, ",\"columns\":{");
    for (int column = 0; column < GROUP_COLUMNS; column++) {
        if (group->columns[column].count == 0)
            continue;
        if (any)
            buf_append_byte(json, ',');
        append_page_column(json, (enum group_column)column, &group->columns[column]);
        any = true;
    }
    buf_append_byte(json, '}');
    if (waits->by_gaspipe + waits->by_worker > 0)
        buf_printf(json, ",\"waits\":[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "]",
                   waits->worker, waits->up + waits->down, waits->kernel,
                   waits->by_gaspipe + waits->by_worker);
    buf_append_byte(json, '}');
}

/*
 * An array of groups: {"by","name","label","columns","waits"}, columns by their name:
 * [count, total, median, 90th, 99th of a hundred, maximum, buckets], buckets
 * being pairs of a number n and a count, of the values from
 * histogram_lowest(8 * n) on: eight to each doubling. The waits for a CPU in worker, pipe and
 * kernel, and all, are there if there are any.
 */
static void page_sums_append_groups(struct buf *json, const struct groups *groups)
{
    buf_append_byte(json, '[');
    for (size_t i = 0; i < groups->count; i++) {
        if (i > 0)
            buf_append_byte(json, ',');
        append_group(json, &groups->groups[i]);
    }
    buf_append_byte(json, ']');
}

static void append_stall(struct buf *json, const struct outlier *stall, int64_t zero)
{
    const char *words = stall->words.data;
    const enum outlier_end end = outlier_waiting_end(stall);
    int64_t start;

    if (__builtin_sub_overflow(stall->start, zero, &start))
        start = MODEL_NONE;
    buf_printf(json, "{\"kind\":%d", (int)stall->kind);
    json_member_integer(json, "took", stall->took);
    json_member_integer(json, "usual", stall->usual);
    json_member_integer(json, "like", (int64_t)stall->like);
    json_member_integer(json, "start", start);
    json_member_integer(json, "line", (int64_t)stall->line);
    json_member_integer(json, "crank", stall->crank_num);
    json_member_integer(json, "number", stall->delivery_num);
    json_member_number(json, "size", stall->size);
    json_member_text(json, "work",
                     stall->kind != MODEL_WORKER ? "bytes"
                     : stall->instructions       ? "instructions"
                                                 : "computrons");
    json_member_number(json, "cpu", stall->kind == MODEL_WORKER ? stall->cpu : NAN);
    json_member_text(json, "waiter",
                     end == OUTLIER_NONE      ? ""
                     : end == OUTLIER_GASPIPE ? "gaspipe"
                                              : "the worker");
    json_member_integer(json, "waited",
                        end == OUTLIER_GASPIPE ? stall->cpu_wait : stall->worker_cpu_wait);
    json_member_text(json, "vat", words);
    json_member_text(json, "text", words + stall->description);
    json_member_text(json, "syscall", words + stall->syscall);
    buf_append_byte(json, '}');
}

/*
 * An array of stalls, {"kind" (of enum model_span_kind), "took", "usual",
 * "like", "start" (after `zero`), "line", "crank", "number", "size", "work"
 * (what size is of), "cpu", "waiter" (which end had no CPU, or ""), "waited", "vat", "text",
 * "syscall"}.
 */
static void page_sums_append_stalls(struct buf *json, struct outlier *const *stalls, size_t count,
                                    int64_t zero)
{
    buf_append_byte(json, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_append_byte(json, ',');
        append_stall(json, stalls[i], zero);
    }
    buf_append_byte(json, ']');
}

/* Adds a phase unless there are PAGE_PHASES already. -1 when out of memory. */
static int page_phases_add(struct page_phases *phases, const struct phase_span *span)
{
    struct page_phase *array;

    if (span->phase == PHASE_CRANK || span->phase == PHASE_DELIVERY || span->phase == PHASE_OTHER ||
        span->total <= 0)
        return 0;
    if (phases->count == PAGE_PHASES) {
        phases->hidden++;
        return 0;
    }
    array = array_reserve(phases->phases, &phases->capacity, phases->count + 1, sizeof *array);
    if (array == NULL)
        return -1;
    phases->phases = array;
    array += phases->count++;
    *array = (struct page_phase){
        .phase = span->phase, .start = span->start, .total = span->total, .own = span->own};
    snprintf(array->name, sizeof array->name, "%s", span->name);
    snprintf(array->vat_id, sizeof array->vat_id, "%s", span->vat_id);
    return 0;
}

/*
 * Appends a JSON array of [name ("run timer", "vat-start"), vat or "", start after `zero`, total,
 * own], in nanoseconds.
 */
static void page_phases_append(const struct page_phases *phases, int64_t zero, struct buf *json)
{
    bool any = false;

    buf_append_byte(json, '[');
    for (size_t i = 0; i < phases->count; i++) {
        const struct page_phase *phase = &phases->phases[i];
        int64_t start;

        if (__builtin_sub_overflow(phase->start, zero, &start) || start <= -FARTHEST ||
            start >= FARTHEST || phase->total >= FARTHEST)
            continue;
        buf_printf(json, "%s[\"%s%s%s\",", any ? "," : "", phase_name(phase->phase),
                   phase->name[0] != '\0' ? " " : "", phase->name);
        json_text_string(json, phase->vat_id, strlen(phase->vat_id));
        buf_printf(json, ",%" PRId64 ",%" PRId64 ",%" PRId64 "]", start, phase->total, phase->own);
        any = true;
    }
    buf_append_byte(json, ']');
}

enum { STALL_LOST = 1000 * 1000 }; /* like `slogreport stalls` */

struct page {
    struct page_file *file;
    char *const *files;
    struct page_limits limits;
    int64_t zero; /* the first delivery's start, since the epoch; MODEL_NONE before the first */
    struct page_deliveries deliveries;
    uint64_t shown, hidden, placeless; /* on the timeline; beyond the limit; without a place in
                                          time */
    uint64_t detail_bytes, detailed;   /* `detailed` of the shown deliveries have their syscalls */
    uint64_t said_bytes;               /* of text already written */
    uint64_t spans[MODEL_SPAN_KINDS];  /* on the timeline */
    struct names vats, kinds;          /* of a vat: id, '\0', name */
    struct page_tree tree;
    struct groups groups;
    struct growth growth;
    struct page_phases phases;
    struct page_profiles profiles;
    struct outliers outliers;
    struct buf notes;
    uint64_t note_count;
};

void page_free(struct page *page)
{
    if (page == NULL)
        return;
    page_file_free(page->file);
    page_deliveries_free(&page->deliveries);
    names_free(&page->vats);
    names_free(&page->kinds);
    page_tree_free(&page->tree);
    groups_free(&page->groups);
    growth_free(&page->growth);
    outliers_free(&page->outliers);
    free(page->phases.phases);
    buf_free(&page->notes);
    free(page);
}

struct page *page_open(const char *path, char *const *files, struct page_limits limits,
                       struct error *error)
{
    struct page *page = calloc(1, sizeof *page);

    if (page == NULL) {
        error_memory(error, "the page");
        return NULL;
    }
    page->files = files;
    page->limits = limits;
    page->zero = MODEL_NONE;
    page->outliers.keep = PAGE_STALLS;
    page->outliers.least = STALL_LOST;
    for (int kind = 0; kind < GROUP_KINDS; kind++)
        page->groups.wanted[kind] = kind != GROUP_BLOCK && kind != GROUP_RUN;
    page->file = page_file_open(path, error);
    if (page->file == NULL) {
        page_free(page);
        return NULL;
    }
    return page;
}

/* ---- deliveries --------------------------------------------------------- */

/* Numbers in the page's tables. */
static int page_find_names(struct page *page, const struct model_delivery *delivery, uint32_t *vat,
                           uint32_t *kind)
{
    struct buf key = {0};
    int result = 0;

    buf_append(&key, delivery->vat_id, strlen(delivery->vat_id) + 1);
    buf_append_string(&key, delivery->vat_name);
    *vat = buf_failed(&key) ? NAMES_NONE : names_intern(&page->vats, key.data, key.length);
    buf_clear(&key);
    buf_append_string(&key, delivery->kind);
    if (delivery->method[0] != '\0')
        buf_printf(&key, " %s", delivery->method);
    *kind = buf_failed(&key) ? NAMES_NONE : names_intern(&page->kinds, key.data, key.length);
    if (*vat == NAMES_NONE || *kind == NAMES_NONE)
        result = -1;
    buf_free(&key);
    return result;
}

static int flush_deliveries(struct page *page, struct error *error)
{
    struct buf json = {0};
    int result;

    page->said_bytes += page->deliveries.said.length;
    page_deliveries_append(&page->deliveries, &json);
    result = page_file_add(page->file, "deliveries", &json, error);
    buf_clear(&json);
    page_deliveries_append_detail(&page->deliveries, &json);
    if (result == 0)
        result = page_file_add(page->file, "detail", &json, error);
    buf_free(&json);
    page_deliveries_free(&page->deliveries);
    return result;
}

/* Finds the place on the timeline, relative to zero. False if the delivery has no place. */
static bool page_find_place(struct page *page, const struct model_delivery *delivery,
                            int64_t *start)
{
    if (delivery->start == MODEL_NONE || delivery->total < 0 || delivery->total >= FARTHEST)
        return false;
    if (page->zero == MODEL_NONE)
        page->zero = delivery->start;
    return !__builtin_sub_overflow(delivery->start, page->zero, start) && *start > -FARTHEST &&
           *start < FARTHEST;
}

static int page_show(struct page *page, const struct model_delivery *delivery, uint32_t vat,
                     uint32_t kind, struct error *error)
{
    bool detail = page->detail_bytes < page->limits.detail_bytes;
    int64_t start;
    size_t taken;

    if (!page_find_place(page, delivery, &start)) {
        page->placeless++;
        return 0;
    }
    if (page->shown == page->limits.deliveries) {
        page->hidden++;
        return 0;
    }
    page->shown++;
    page->detailed += detail;
    taken = page_deliveries_add(&page->deliveries, delivery, start, vat, kind, detail,
                                page->said_bytes < page->limits.said_bytes);
    page->detail_bytes += taken;
    for (size_t i = 0; taken > 0 && i < delivery->span_count; i++)
        page->spans[delivery->spans[i].kind]++;
    return page_deliveries_full(&page->deliveries) ? flush_deliveries(page, error) : 0;
}

int page_add(struct page *page, const struct model_delivery *delivery, bool wanted,
             struct error *error)
{
    uint32_t vat, kind;

    if (outliers_add(&page->outliers, delivery, wanted, error) != 0)
        return -1;
    if (!wanted)
        return 0;
    if (page_find_names(page, delivery, &vat, &kind) != 0 ||
        page_tree_add(&page->tree, delivery, vat, kind) != 0)
        return error_memory(error, "the page");
    if (groups_add(&page->groups, delivery, error) != 0 ||
        growth_add(&page->growth, delivery, error) != 0)
        return -1;
    return page_show(page, delivery, vat, kind, error);
}

void page_add_phase(struct page *page, const struct phase_span *span)
{
    groups_add_phase(&page->groups, span);
    growth_add_phase(&page->growth, span);
    if (page_phases_add(&page->phases, span) != 0)
        page->notes.failed = true;
}

/* Puts a tree of a profile on the page if it fits. */
static int page_put_tree(void *context, const json_t *tree, const struct reader_line *line,
                         struct error *error)
{
    struct page *const page = context;
    struct page_profiles *const profiles = &page->profiles;
    const uint64_t limit = page->limits.tree_bytes;
    struct buf json = {0};
    int result;

    (void)tree;
    if (line->length > limit || profiles->bytes > limit - line->length) {
        profiles->hidden++;
        return 0;
    }
    buf_append(&json, line->bytes, line->length);
    result = page_file_add(page->file, "profile", &json, error);
    buf_free(&json);
    profiles->trees++;
    profiles->bytes += line->length;
    return result;
}

int page_add_profile(struct page *page, const char *path, struct error *error)
{
    return profile_tree_read(path, page_put_tree, page, error);
}

void page_note(struct page *page, const struct model_note *note)
{
    if ((note->kind != MODEL_NOTE_KERNEL && note->kind != MODEL_NOTE_CLOCK) ||
        page->note_count == PAGE_NOTES)
        return;
    buf_printf(&page->notes, "%s[\"%s\",%" PRIu64 ",%" PRIu64 ",%" PRId64 "]",
               page->note_count > 0 ? "," : "",
               note->kind == MODEL_NOTE_KERNEL ? "kernel" : "clock", page->shown, note->line,
               note->kind == MODEL_NOTE_CLOCK ? note->amount : 0);
    page->note_count++;
}

/* ---- the rest ----------------------------------------------------------- */

static void append_strings(struct buf *json, const char *name, char *const *strings)
{
    buf_printf(json, ",\"%s\":[", name);
    for (size_t i = 0; strings[i] != NULL; i++) {
        if (i > 0)
            buf_append_byte(json, ',');
        json_text_string(json, strings[i], strlen(strings[i]));
    }
    buf_append_byte(json, ']');
}

static void append_names(struct buf *json, const char *name, const struct names *names)
{
    buf_printf(json, ",\"%s\":[", name);
    for (size_t i = 0; i < names->count; i++) {
        const char *text = names_text(names, (uint32_t)i);
        size_t first = strlen(text);

        buf_append_string(json, i > 0 ? ",[" : "[");
        json_text_string(json, text, first);
        if (first < names->names[i].length) {
            buf_append_byte(json, ',');
            json_text_string(json, text + first + 1, names->names[i].length - first - 1);
        }
        buf_append_byte(json, ']');
    }
    buf_append_byte(json, ']');
}

/* Appends the points of each vat, with its ID and name. */
static void append_growth(struct buf *json, const struct page *page)
{
    int64_t zero = page->zero != MODEL_NONE && page->zero != 0 ? page->zero : 1;

    buf_append_string(json, ",\"growth\":[");
    for (size_t i = 0; i < page->growth.vat_count; i++) {
        struct buf name = {0};

        buf_printf(&name, "%s %s", growth_vat_id(&page->growth, i),
                   growth_vat_name(&page->growth, i));
        buf_append_string(json, i > 0 ? ",[" : "[");
        json->failed |= buf_failed(&name);
        if (!buf_failed(&name))
            json_text_string(json, name.data, name.length);
        buf_append_byte(json, ',');
        growth_append_points(&page->growth, i, zero, json);
        buf_append_byte(json, ']');
        buf_free(&name);
    }
    buf_append_byte(json, ']');
}

static void append_counts(struct buf *json, const struct page *page, const struct tally *tally)
{
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {{"shown", page->shown},
                  {"hidden", page->hidden},
                  {"placeless", page->placeless},
                  {"detailed", page->detailed},
                  {"spoiled", page->groups.spoiled},
                  {"hiddenPhases", page->phases.hidden},
                  {"hiddenTrees", page->profiles.hidden},
                  {"lines", tally->lines},
                  {"badLines", tally->bad_lines},
                  {"tornLines", tally->torn_lines},
                  {"kernelStarts", tally->totals.notes[MODEL_NOTE_KERNEL]},
                  {"clockChanges", tally->totals.notes[MODEL_NOTE_CLOCK]},
                  {"withoutResult", tally->totals.notes[MODEL_NOTE_UNENDED]},
                  {"withoutDeliver", tally->totals.notes[MODEL_NOTE_UNSTARTED]}};

    buf_append_string(json, ",\"counts\":{");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        buf_printf(json, "%s\"%s\":%" PRIu64, i > 0 ? "," : "", counts[i].name, counts[i].count);
    buf_append_byte(json, '}');
}

static int append_stalls(struct buf *json, struct page *page, struct error *error)
{
    uint64_t count;
    size_t shown;
    struct outlier **found = outliers_find(&page->outliers, &shown, &count, error);

    if (found == NULL)
        return -1;
    buf_printf(json, ",\"stallCount\":%" PRIu64 ",\"stalls\":", count);
    page_sums_append_stalls(json, found, shown, page->zero != MODEL_NONE ? page->zero : 0);
    free(found);
    return 0;
}

static int append_overall(struct buf *json, struct page *page, const struct tally *tally,
                          struct error *error)
{
    /* A string, since JavaScript cannot hold nanoseconds since the epoch exactly. */
    buf_printf(json, "{\"version\":\"%s\",\"zero\":\"%" PRId64 "\"", GASPIPE_VERSION,
               page->zero != MODEL_NONE ? page->zero : 0);
    append_strings(json, "files", page->files);
    append_counts(json, page, tally);
    buf_append_string(json, ",\"spans\":[");
    for (int kind = 0; kind < MODEL_SPAN_KINDS; kind++)
        buf_printf(json, "%s%" PRIu64, kind > 0 ? "," : "", page->spans[kind]);
    buf_append_byte(json, ']');
    append_names(json, "vats", &page->vats);
    append_names(json, "kinds", &page->kinds);
    append_growth(json, page);
    buf_append_string(json, ",\"notes\":[");
    json->failed |= buf_failed(&page->notes);
    if (page->note_count > 0)
        buf_append(json, page->notes.data, page->notes.length);
    buf_append_string(json, "],\"phases\":");
    page_phases_append(&page->phases, page->zero != MODEL_NONE ? page->zero : 0, json);
    buf_append_string(json, ",\"tree\":");
    page_tree_append(&page->tree, json);
    buf_append_string(json, ",\"groups\":");
    page_sums_append_groups(json, &page->groups);
    if (append_stalls(json, page, error) != 0)
        return -1;
    buf_append_byte(json, '}');
    return 0;
}

int page_finish(struct page *page, const struct tally *tally, struct error *error)
{
    struct buf json = {0};
    int result = 0;

    if (page->deliveries.count > 0)
        result = flush_deliveries(page, error);
    if (result == 0)
        result = append_overall(&json, page, tally, error);
    if (result == 0)
        result = page_file_add(page->file, "overall", &json, error);
    if (result == 0)
        result = page_file_finish(page->file, error);
    buf_free(&json);
    return result;
}
