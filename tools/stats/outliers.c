/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/outliers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/*
 * An outlier takes at least OUTSTANDING times the usual, and its distance from that (in
 * logarithms) is OUTSTANDING times the median distance, so that more is needed if times vary much.
 * The bound is rounded up to the next bucket of a histogram, at most a 64th, so that spans beyond
 * it can be counted.
 */
#define OUTSTANDING 5.0

struct outliers_class {
    struct histogram histogram; /* widen() fills in those of wider classes */
    uint32_t wider;             /* the class to use if this has too few; itself if none */
    bool narrowest;             /* its spans are added to it */
    /* The times of wanted spans that took `least`, and the longest of them, a heap with the
     * shortest first. */
    struct histogram wanted;
    struct outlier *longest;
    size_t count, capacity;
};

/* A span to be added. */
struct candidate {
    const struct model_delivery *delivery;
    const struct model_event *event; /* NULL: none */
    enum model_span_kind kind;
    int64_t took, from;
    double size;
    bool wanted; /* can be found as an outlier */
};

/* ---- classes ------------------------------------------------------------ */

/* Finds the class with that key, or makes it. */
static int class_of(struct outliers *outliers, uint64_t key, uint64_t what, uint32_t *number,
                    bool *is_new)
{
    struct pair *pair = pair_table_find(&outliers->numbers, key, what);
    struct outliers_class *classes;

    if (pair == NULL)
        return -1;
    *is_new = pair->value == 0;
    if (*is_new) {
        classes = array_reserve(outliers->classes, &outliers->class_capacity,
                                outliers->class_count + 1, sizeof *classes);
        if (classes == NULL)
            return -1;
        outliers->classes = classes;
        classes[outliers->class_count] = (struct outliers_class){
            .wider = (uint32_t)outliers->class_count,
        };
        pair->value = ++outliers->class_count;
    }
    *number = (uint32_t)(pair->value - 1);
    return 0;
}

/* The same for sizes within a factor of four. */
static unsigned size_class(double size)
{
    return isnan(size) || size < 1 ? 0 : 1 + (unsigned)(ilogb(size) / 2);
}

/* A key is the kind, how wide the class is, and in the narrowest classes the size. */
enum {
    KEY_NARROWEST = 0 << 8,
    KEY_ANY_SIZE = 1 << 8,
    KEY_KIND = 2 << 8,
    KEY_INSTRUCTIONS = 1 << 10,
    KEY_SIZE_BIT = 11,
};

static int add_wider_classes(struct outliers *outliers, uint64_t kind, uint64_t what,
                             uint32_t narrowest)
{
    uint32_t any_size, any;
    bool is_new;

    if (class_of(outliers, kind | KEY_ANY_SIZE, what, &any_size, &is_new) != 0 ||
        class_of(outliers, kind | KEY_KIND, 0, &any, &is_new) != 0)
        return -1;
    outliers->classes[narrowest].wider = any_size;
    outliers->classes[any_size].wider = any;
    return 0;
}

/* Finds the number of a span's narrowest class. */
static int find_class(struct outliers *outliers, const struct candidate *candidate,
                      uint32_t *number)
{
    const uint64_t kind = (uint64_t)candidate->kind;
    uint64_t key = kind | KEY_NARROWEST | (uint64_t)size_class(candidate->size) << KEY_SIZE_BIT;
    uint64_t what = 0;
    bool is_new;

    if (candidate->event != NULL) {
        const uint32_t name =
            names_intern(&outliers->names, candidate->event->kind, strlen(candidate->event->kind));

        if (name == NAMES_NONE)
            return -1;
        what = (uint64_t)name + 1;
    }
    if (candidate->delivery->instructions > 0)
        key |= KEY_INSTRUCTIONS;
    if (class_of(outliers, key, what, number, &is_new) != 0)
        return -1;
    outliers->classes[*number].narrowest = true;
    /* A worker's time means nothing without the amount of work. */
    if (is_new && candidate->kind != MODEL_WORKER)
        return add_wider_classes(outliers, kind, what, *number);
    return 0;
}

/* ---- the longest -------------------------------------------------------- */

static void swap_outliers(struct outlier *a, struct outlier *b)
{
    struct outlier kept = *a;

    *a = *b;
    *b = kept;
}

static void sift_down(struct outliers_class *class)
{
    size_t at = 0;

    for (;;) {
        size_t shortest = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < class->count; child++) {
            if (class->longest[child].took < class->longest[shortest].took)
                shortest = child;
        }
        if (shortest == at)
            return;
        swap_outliers(&class->longest[at], &class->longest[shortest]);
        at = shortest;
    }
}

static void sift_up(struct outliers_class *class)
{
    size_t at = class->count - 1;

    while (at > 0 && class->longest[at].took < class->longest[(at - 1) / 2].took) {
        swap_outliers(&class->longest[at], &class->longest[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static size_t add_word(struct buf *words, const char *word)
{
    size_t at = words->length;

    buf_append(words, word, strlen(word) + 1);
    return at;
}

/* Converts to the real clock; a file can invent any moment. */
static int64_t start_of(const struct candidate *candidate)
{
    const struct model_delivery *delivery = candidate->delivery;
    int64_t within, start;

    if (__builtin_sub_overflow(candidate->from, delivery->spans[0].from, &within) ||
        __builtin_add_overflow(delivery->start, within, &start))
        return delivery->start;
    return start;
}

static int fill_outlier(struct outlier *outlier, const struct candidate *candidate)
{
    const struct model_delivery *delivery = candidate->delivery;
    struct buf words = outlier->words;

    buf_clear(&words);
    *outlier = (struct outlier){
        .kind = candidate->kind,
        .took = candidate->took,
        .start = start_of(candidate),
        .size = candidate->size,
        .crank_num = delivery->crank_num,
        .delivery_num = delivery->delivery_num,
        .file = delivery->file,
        .line = delivery->line,
        .cpu_wait = delivery->cpu_wait,
        .worker_cpu_wait = delivery->worker_cpu_wait,
        .cpu = (delivery->cpu_user + delivery->cpu_sys) * 1000,
        .switched_out = delivery->switched_out,
        .instructions = !isnan(delivery->instructions),
    };
    add_word(&words, delivery->vat_id);
    outlier->description = add_word(&words, delivery->description);
    outlier->syscall = add_word(&words, candidate->event != NULL ? candidate->event->label : "");
    outlier->words = words;
    return buf_failed(&words) ? -1 : 0;
}

static int keep_if_long(struct outliers *outliers, struct outliers_class *class,
                        const struct candidate *candidate)
{
    struct outlier *longest;

    if (class->count == outliers->keep) {
        if (candidate->took <= class->longest[0].took)
            return 0;
        if (fill_outlier(&class->longest[0], candidate) != 0)
            return -1;
        sift_down(class);
        return 0;
    }
    longest = array_reserve(class->longest, &class->capacity, class->count + 1, sizeof *longest);
    if (longest == NULL)
        return -1;
    class->longest = longest;
    longest[class->count] = (struct outlier){0};
    if (fill_outlier(&longest[class->count++], candidate) != 0)
        return -1;
    sift_up(class);
    return 0;
}

/* ---- adding ---------------------------------------------------------- */

static int add_candidate(struct outliers *outliers, const struct candidate *candidate)
{
    struct outliers_class *class;
    uint32_t number;

    if (candidate->took < 0)
        return 0;
    if (find_class(outliers, candidate, &number) != 0)
        return -1;
    class = &outliers->classes[number];
    if (histogram_add(&class->histogram, (uint64_t)candidate->took) != 0)
        return -1;
    if (!candidate->wanted || candidate->took < outliers->least)
        return 0;
    if (histogram_add(&class->wanted, (uint64_t)candidate->took) != 0)
        return -1;
    return keep_if_long(outliers, class, candidate);
}

/* The size of what a span carried; not known for results. */
static double carried_bytes(const struct model_delivery *delivery, const struct model_span *span,
                            const struct model_event *event)
{
    if (span->kind == MODEL_SEND)
        return (double)delivery->bytes;
    if (event == NULL)
        return NAN;
    switch (span->kind) {
    case MODEL_UP:
    case MODEL_KERNEL:
        return (double)event->request_bytes;
    case MODEL_DOWN:
        return (double)event->answer_bytes;
    default:
        return NAN;
    }
}

static bool is_judged(const struct model_span *span)
{
    return !span->spoiled &&
           (span->kind == MODEL_SEND || span->kind == MODEL_UP || span->kind == MODEL_KERNEL ||
            span->kind == MODEL_DOWN || span->kind == MODEL_RETURN);
}

/* The beginning of the worker's longest span, taken as that of a stall. */
static int64_t longest_work(const struct model_delivery *delivery)
{
    const struct model_span *longest = &delivery->spans[0];

    for (size_t i = 0; i < delivery->span_count; i++) {
        const struct model_span *span = &delivery->spans[i];

        if (span->kind == MODEL_WORKER &&
            (longest->kind != MODEL_WORKER || span->to - span->from > longest->to - longest->from))
            longest = span;
    }
    return longest->from;
}

static int add_worker(struct outliers *outliers, const struct model_delivery *delivery, bool wanted)
{
    struct candidate candidate = {.delivery = delivery,
                                  .kind = MODEL_WORKER,
                                  .wanted = wanted,
                                  .took = delivery->worker,
                                  .from = longest_work(delivery),
                                  .size = isnan(delivery->instructions) ? delivery->compute
                                                                        : delivery->instructions};

    return add_candidate(outliers, &candidate);
}

static int outliers_add_span(struct outliers *outliers, const struct model_delivery *delivery,
                             const struct model_span *span, bool wanted)
{
    struct candidate candidate = {.delivery = delivery,
                                  .kind = span->kind,
                                  .wanted = wanted,
                                  .took = span->to - span->from,
                                  .from = span->from};

    if (!is_judged(span))
        return 0;
    if (span->event != UINT32_MAX)
        candidate.event = &delivery->events[span->event];
    candidate.size = carried_bytes(delivery, span, candidate.event);
    return add_candidate(outliers, &candidate);
}

int outliers_add(struct outliers *outliers, const struct model_delivery *delivery, bool wanted,
                 struct error *error)
{
    int result = 0;

    if (delivery->replay || delivery->span_count == 0)
        return 0;
    for (size_t i = 0; i < delivery->span_count && result == 0; i++)
        result = outliers_add_span(outliers, delivery, &delivery->spans[i], wanted);
    if (result == 0 && delivery->coverage == MODEL_FULL && !delivery->clock_changed)
        result = add_worker(outliers, delivery, wanted);
    return result == 0 ? 0 : error_memory(error, "what spans usually take");
}

/* ---- judging ------------------------------------------------------------ */

/* The median distance from the median, as a factor. */
static double spread_around(const struct histogram *histogram, double usual)
{
    uint64_t within = 0, half = histogram->count / 2;
    size_t low, high;

    for (high = 0; high < histogram->bucket_count; high++) {
        if ((double)histogram_lowest(histogram->buckets[high].index) >= usual)
            break;
    }
    /* Grows from the median to the nearer side until half are within. */
    low = high;
    for (;;) {
        double below =
            low > 0 ? usual / ((double)histogram_lowest(histogram->buckets[low - 1].index) + 1)
                    : INFINITY;
        double above = high < histogram->bucket_count
                           ? (double)histogram_lowest(histogram->buckets[high].index) / usual
                           : INFINITY;

        within +=
            below < above ? histogram->buckets[--low].count : histogram->buckets[high++].count;
        if (within >= half)
            return fmax(fmin(below, above), 1);
    }
}

/* The bound of a class. */
struct verdict {
    int64_t usual;
    size_t like;
    uint32_t index; /* of the first bucket of outliers only */
};

/* Makes the histograms of wider classes from those of the narrowest. */
static int widen(struct outliers *outliers)
{
    struct outliers_class *classes = outliers->classes;

    for (size_t i = 0; i < outliers->class_count; i++) {
        if (!classes[i].narrowest)
            histogram_free(&classes[i].histogram);
    }
    for (size_t i = 0; i < outliers->class_count; i++) {
        for (size_t at = i; classes[i].narrowest && classes[at].wider != at;) {
            at = classes[at].wider;
            if (histogram_merge(&classes[at].histogram, &classes[i].histogram) != 0)
                return -1;
        }
    }
    return 0;
}

/* False if there can be no outliers. */
static bool outliers_judge(const struct outliers *outliers, const struct outliers_class *narrowest,
                           struct verdict *verdict)
{
    const struct outliers_class *class = narrowest;
    double usual, bound;

    while (class->histogram.count < OUTLIERS_ENOUGH && &outliers->classes[class->wider] != class)
        class = &outliers->classes[class->wider];
    if (class->histogram.count < OUTLIERS_ENOUGH)
        return false;
    verdict->like = class->histogram.count;
    verdict->usual = (int64_t)histogram_quantile(&class->histogram, 0.5);
    usual = fmax((double)verdict->usual, 1);
    bound = fmax(usual * OUTSTANDING,
                 usual * pow(spread_around(&class->histogram, usual), OUTSTANDING));
    bound = ceil(fmax(bound, (double)verdict->usual + (double)outliers->least));
    if (bound >= 0x1p62)
        return false;
    verdict->index = histogram_index((uint64_t)bound);
    verdict->index += histogram_lowest(verdict->index) < (uint64_t)bound;
    return true;
}

static uint64_t count_from(const struct histogram *histogram, uint32_t index)
{
    uint64_t count = 0;

    for (size_t i = histogram->bucket_count; i > 0 && histogram->buckets[i - 1].index >= index; i--)
        count += histogram->buckets[i - 1].count;
    return count;
}

static int outliers_compare(const void *a, const void *b)
{
    const struct outlier *left = *(struct outlier *const *)a;
    const struct outlier *right = *(struct outlier *const *)b;
    int64_t left_lost = left->took - left->usual, right_lost = right->took - right->usual;

    if (left_lost != right_lost)
        return left_lost > right_lost ? -1 : 1;
    return left->line < right->line ? -1 : left->line > right->line;
}

/* Appends a class's outliers to `found`, which has space for them. Returns how many. */
static size_t find_in_class(struct outliers_class *class, const struct verdict *verdict,
                            struct outlier **found)
{
    int64_t bound = (int64_t)histogram_lowest(verdict->index);
    size_t count = 0;

    for (size_t i = 0; i < class->count; i++) {
        struct outlier *outlier = &class->longest[i];

        if (outlier->took < bound)
            continue;
        outlier->usual = verdict->usual;
        outlier->like = verdict->like;
        found[count++] = outlier;
    }
    return count;
}

struct outlier **outliers_find(struct outliers *outliers, size_t *count, uint64_t *all,
                               struct error *error)
{
    struct outlier **found;
    size_t kept = 0;

    *count = 0;
    *all = 0;
    for (size_t i = 0; i < outliers->class_count; i++)
        kept += outliers->classes[i].count;
    found = calloc(kept + 1, sizeof(struct outlier *));
    if (found == NULL || widen(outliers) != 0) {
        free(found);
        error_memory(error, "the spans that stand out");
        return NULL;
    }
    for (size_t i = 0; i < outliers->class_count; i++) {
        struct outliers_class *class = &outliers->classes[i];
        struct verdict verdict;

        if (class->count == 0 || !outliers_judge(outliers, class, &verdict))
            continue;
        *all += count_from(&class->wanted, verdict.index);
        *count += find_in_class(class, &verdict, found + *count);
    }
    if (*count > 0)
        qsort(found, *count, sizeof(struct outlier *), outliers_compare);
    if (*count > outliers->keep)
        *count = outliers->keep;
    return found;
}

void outliers_free(struct outliers *outliers)
{
    for (size_t i = 0; i < outliers->class_count; i++) {
        struct outliers_class *class = &outliers->classes[i];

        for (size_t j = 0; j < class->count; j++)
            buf_free(&class->longest[j].words);
        free(class->longest);
        histogram_free(&class->histogram);
        histogram_free(&class->wanted);
    }
    free(outliers->classes);
    names_free(&outliers->names);
    pair_table_free(&outliers->numbers);
    *outliers = (struct outliers){0};
}

/* Waits for a CPU explain a span if they took half of it. */
static bool explains(const struct outlier *outlier, int64_t waited)
{
    return waited > 0 && waited >= outlier->took / 2;
}

/* The end that receives the frame, or computes; a frame from the worker is also late while that has
 * no CPU between its stamp and the writing. */
enum outlier_end outlier_waiting_end(const struct outlier *outlier)
{
    const bool from_worker = outlier->kind == MODEL_UP || outlier->kind == MODEL_RETURN;

    if ((from_worker || outlier->kind == MODEL_KERNEL) && explains(outlier, outlier->cpu_wait))
        return OUTLIER_GASPIPE;
    if (outlier->kind != MODEL_KERNEL && explains(outlier, outlier->worker_cpu_wait))
        return OUTLIER_WORKER;
    return OUTLIER_NONE;
}
