/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/format.h"
#include "tools/command/commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json_member.h"
#include "base/json/json_text.h"
#include "tools/command/stall_words.h"
#include "tools/input/feed.h"
#include "tools/output/output.h"
#include "tools/stats/outliers.h"

enum { SHOWN = 20 };

/* Descriptions of stalls by kind of span. */
static const struct {
    const char *words, *side, *span;
} kinds[MODEL_SPAN_KINDS] = {
    [MODEL_SEND] = {"pipe: delivery late at the worker", "pipe", "send"},
    [MODEL_UP] = {"pipe: request late at the kernel", "pipe", "up"},
    [MODEL_KERNEL] = {"kernel: answered late", "kernel", "kernel"},
    [MODEL_DOWN] = {"pipe: answer late at the worker", "pipe", "down"},
    [MODEL_RETURN] = {"pipe: result late at the kernel", "pipe", "return"},
    [MODEL_WORKER] = {"worker: took long", "worker", "worker"},
};

/* A worker that ran for less than half of its time waited for a CPU, or for memory. */
static const char *cause_of(const struct outlier *outlier)
{
    static const char *const waits[] = {
        [OUTLIER_GASPIPE] = "cpu-wait", [OUTLIER_WORKER] = "worker-cpu-wait"};
    const enum outlier_end end = outlier_waiting_end(outlier);

    if (end != OUTLIER_NONE)
        return waits[end];
    if (outlier->kind != MODEL_WORKER || isnan(outlier->cpu))
        return NULL;
    return outlier->cpu < (double)outlier->took / 2 ? "not-let-run" : "computed";
}

/* Words for each cause, in the list of stalls by cause. */
static const struct {
    const char *cause, *words;
} causes[] = {{"cpu-wait", "gaspipe waited for a CPU"},
              {"worker-cpu-wait", "the worker waited for a CPU"},
              {"computed", "worker: computed for long"},
              {"not-let-run", "worker: was not let run"}};

const char *stall_words(const struct outlier *outlier)
{
    const char *cause = cause_of(outlier);

    for (size_t i = 0; cause != NULL && i < sizeof causes / sizeof *causes; i++)
        if (strcmp(cause, causes[i].cause) == 0)
            return causes[i].words;
    return kinds[outlier->kind].words;
}

/* ---- text --------------------------------------------------------------- */

static void append_size(struct buf *out, const struct outlier *outlier)
{
    char text[UNITS_SIZE];

    if (isnan(outlier->size))
        return;
    units_count(text, (uint64_t)outlier->size);
    buf_printf(out, ", %s %s", text,
               outlier->kind != MODEL_WORKER ? "bytes"
               : outlier->instructions       ? "instructions"
                                             : "computrons");
}

/* The pipe is not named where an end waited for a CPU. */
static void append_words(struct buf *out, const struct outlier *outlier)
{
    const char *words = kinds[outlier->kind].words;

    if (outlier_waiting_end(outlier) == OUTLIER_NONE)
        buf_append_string(out, words);
    else
        buf_printf(out, "no CPU%s", strchr(words, ':'));
}

static void append_worker(struct buf *out, const struct outlier *outlier)
{
    const char *cause = cause_of(outlier);

    if (cause == NULL)
        return;
    if (outlier_waiting_end(outlier) != OUTLIER_NONE) {
        const bool gaspipe = outlier_waiting_end(outlier) == OUTLIER_GASPIPE;

        buf_printf(out, "; %s waited ", gaspipe ? "gaspipe" : "the worker");
        units_pad_time(out, gaspipe ? outlier->cpu_wait : outlier->worker_cpu_wait, 0);
        buf_append_string(out, " for a CPU in this delivery");
        return;
    }
    buf_append_string(out, strcmp(cause, "computed") == 0 ? ", it computed (ran "
                                                          : ", it was not let run (ran ");
    units_pad_time(out, (int64_t)outlier->cpu, 0);
    if (!isnan(outlier->switched_out))
        buf_printf(out, ", switched out %.0f times", outlier->switched_out);
    buf_append_byte(out, ')');
}

static void text_stall(struct buf *out, const struct outlier *outlier)
{
    units_pad_time(out, outlier->took, 10);
    units_pad_time(out, outlier->usual, 10);
    buf_printf(out, "%9.1f x  ", (double)outlier->took / fmax((double)outlier->usual, 1));
    units_append_moment(out, outlier->start);
    if (outlier->crank_num != MODEL_NONE)
        buf_printf(out, " c%" PRId64, outlier->crank_num);
    buf_printf(out, " %s %s", outlier->words.data, outlier->words.data + outlier->description);
    if (outlier->words.data[outlier->syscall] != '\0')
        buf_printf(out, " : %s", outlier->words.data + outlier->syscall);
    buf_printf(out, "\n%*s", 36, "");
    append_words(out, outlier);
    append_size(out, outlier);
    append_worker(out, outlier);
    buf_append_byte(out, '\n');
}

static void text_stalls(struct buf *out, struct outlier **found, uint64_t count, size_t shown)
{
    buf_printf(out, "%" PRIu64 " %s took far longer than similar ones", count,
               format_plural(count, "span", "spans"));
    if (shown < count)
        buf_printf(out, ", the first %zu", shown);
    if (count > 0)
        buf_printf(out, ":\n%10s%10s%11s  %s\n", "took", "usual", "", "when, where, what");
    else
        buf_append_byte(out, '\n');
    for (size_t i = 0; i < shown; i++)
        text_stall(out, found[i]);
}

/* ---- JSON --------------------------------------------------------------- */

static void json_stall(struct buf *out, const struct outlier *outlier)
{
    bool worker = outlier->kind == MODEL_WORKER, sized = !isnan(outlier->size);
    const char *cause = cause_of(outlier), *words = outlier->words.data;

    buf_append_string(out, "{\"kind\":\"stall\"");
    json_member_text(out, "side", kinds[outlier->kind].side);
    json_member_text(out, "span", kinds[outlier->kind].span);
    buf_append_string(out, ",\"start\":");
    json_text_seconds(out, outlier->start / 1000);
    json_member_seconds(out, "took", outlier->took);
    json_member_seconds(out, "usual", outlier->usual);
    json_member_integer(out, "like", (int64_t)outlier->like);
    json_member_text(out, "vatID", words);
    json_member_integer(out, "crankNum", outlier->crank_num);
    json_member_integer(out, "deliveryNum", outlier->delivery_num);
    json_member_text(out, "description", words + outlier->description);
    json_member_text(out, "syscall", words + outlier->syscall);
    json_member_integer(out, "bytes", worker || !sized ? MODEL_NONE : (int64_t)outlier->size);
    json_member_integer(out, "work", worker && sized ? (int64_t)outlier->size : MODEL_NONE);
    json_member_seconds(out, "cpu",
                        worker && !isnan(outlier->cpu) ? (int64_t)outlier->cpu : MODEL_NONE);
    json_member_text_or_null(out, "cause", cause != NULL ? cause : "");
    if (outlier->file != NULL)
        json_member_text(out, "file", outlier->file);
    json_member_integer(out, "line", (int64_t)outlier->line);
    buf_append(out, "}\n", 2);
}

/* ---- the command -------------------------------------------------------- */

struct stalls {
    struct selection selection;
    struct outliers outliers;
    uint64_t chosen; /* deliveries */
};

static int stalls_on_delivery(void *context, const struct model_delivery *delivery,
                              struct error *error)
{
    struct stalls *stalls = context;

    const bool wanted = selection_takes(&stalls->selection, delivery);

    stalls->chosen += wanted;
    return outliers_add(&stalls->outliers, delivery, wanted, error);
}

static int write_stalls(struct stalls *stalls, const struct options *options, struct error *error)
{
    uint64_t count;
    size_t shown;
    struct outlier **found = outliers_find(&stalls->outliers, &shown, &count, error);
    struct buf out = {0};
    int result;

    if (found == NULL)
        return -1;
    if (!options->json)
        text_stalls(&out, found, count, shown);
    for (size_t i = 0; options->json && i < shown; i++)
        json_stall(&out, found[i]);
    result = output_flush(&out, error);
    buf_free(&out);
    free(found);
    return result;
}

int stalls_run(const struct options *options, struct error *error)
{
    struct stalls stalls = {.selection = options->selection,
                            .outliers.keep = options->top > 0 ? options->top : SHOWN,
                            .outliers.least = options->selection.minimum > 0
                                                  ? options->selection.minimum
                                                  : STALL_LEAST};
    struct feed feed = options_feed(options);
    struct tally tally;
    int result;

    stalls.selection.minimum = 0;
    feed.labels = true;
    feed.sink = (struct model_sink){.delivery = stalls_on_delivery, .context = &stalls};
    result = feed_run(&feed, &tally, error);
    if (result == 0)
        result = write_stalls(&stalls, options, error);
    if (result == 0)
        selection_explain(&options->selection, stalls.chosen, tally.totals.deliveries);
    if (result == 0 && !options->selection.runs.set)
        explain_runs(&tally.totals, NULL, "are judged together");
    tally_free(&tally);
    outliers_free(&stalls.outliers);
    return result;
}
