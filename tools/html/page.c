/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/html/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_text.h"
#include "tools/html/page_deliveries.h"
#include "tools/html/page_file.h"
#include "tools/html/page_phases.h"
#include "tools/html/page_profiles.h"
#include "tools/html/page_sums.h"
#include "tools/html/page_tree.h"
#include "tools/stats/groups.h"
#include "tools/stats/growth/growth.h"
#include "tools/stats/outliers.h"

enum { STALL_LOST = 1000 * 1000 }; /* as `slogreport stalls` */

/* JavaScript's numbers are exact up to here. */
#define FARTHEST ((int64_t)1 << 53)

struct page {
    struct page_file *file;
    char *const *files;
    struct page_limits limits;
    int64_t zero; /* the first delivery's start, since the epoch; MODEL_NONE before it */
    struct page_deliveries deliveries;
    uint64_t shown, hidden, placeless; /* on the timeline; beyond its end; without a place */
    uint64_t detail_bytes, detailed;   /* `detailed` of the shown had room for their syscalls */
    uint64_t said_bytes;               /* of what is said, but for the deliveries above */
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
static int find_names(struct page *page, const struct model_delivery *delivery, uint32_t *vat,
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

/* Whether it has a place on the timeline, and how far from the zero that is. */
static bool find_place(struct page *page, const struct model_delivery *delivery, int64_t *start)
{
    if (delivery->start == MODEL_NONE || delivery->total < 0 || delivery->total >= FARTHEST)
        return false;
    if (page->zero == MODEL_NONE)
        page->zero = delivery->start;
    return !__builtin_sub_overflow(delivery->start, page->zero, start) && *start > -FARTHEST &&
           *start < FARTHEST;
}

static int show(struct page *page, const struct model_delivery *delivery, uint32_t vat,
                uint32_t kind, struct error *error)
{
    bool detail = page->detail_bytes < page->limits.detail_bytes;
    int64_t start;

    if (!find_place(page, delivery, &start)) {
        page->placeless++;
        return 0;
    }
    if (page->shown == page->limits.deliveries) {
        page->hidden++;
        return 0;
    }
    page->shown++;
    page->detailed += detail;
    page->detail_bytes += page_deliveries_add(&page->deliveries, delivery, start, vat, kind, detail,
                                              page->said_bytes < page->limits.said_bytes);
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
    if (find_names(page, delivery, &vat, &kind) != 0 ||
        page_tree_add(&page->tree, delivery, vat, kind) != 0)
        return error_memory(error, "the page");
    if (groups_add(&page->groups, delivery, error) != 0 ||
        growth_add(&page->growth, delivery, error) != 0)
        return -1;
    return show(page, delivery, vat, kind, error);
}

void page_add_phase(struct page *page, const struct phase_span *span)
{
    groups_add_phase(&page->groups, span);
    growth_add_phase(&page->growth, span);
    if (page_phases_add(&page->phases, span, PAGE_PHASES) != 0)
        page->notes.failed = true;
}

int page_add_profile(struct page *page, const char *path, struct error *error)
{
    return page_profiles_add(&page->profiles, page->file, path, page->limits.tree_bytes, error);
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

/* By vat, as text that names it. */
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
                  {"kernelStarts", tally->kernels},
                  {"clockChanges", tally->clock_changes},
                  {"withoutResult", tally->unended},
                  {"withoutDeliver", tally->unstarted}};

    buf_append_string(json, ",\"counts\":{");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        buf_printf(json, "%s\"%s\":%" PRIu64, i > 0 ? "," : "", counts[i].name, counts[i].count);
    buf_append_byte(json, '}');
}

static int append_stalls(struct buf *json, struct page *page, struct error *error)
{
    uint64_t count;
    size_t shown;
    struct outlier **found = outliers_find(&page->outliers, STALL_LOST, &shown, &count, error);

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
    /* As a string: nanoseconds since the epoch are no exact number in JavaScript. */
    buf_printf(json, "{\"version\":\"%s\",\"zero\":\"%" PRId64 "\"", GASPIPE_VERSION,
               page->zero != MODEL_NONE ? page->zero : 0);
    append_strings(json, "files", page->files);
    append_counts(json, page, tally);
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
    page_phases_free(&page->phases);
    buf_free(&page->notes);
    free(page);
}
