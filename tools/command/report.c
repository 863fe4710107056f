/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/commands.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "tools/command/overview.h"
#include "tools/html/page.h"
#include "tools/input/feed.h"
#include "tools/metrics/metrics.h"
#include "tools/otlp/otlp.h"
#include "tools/output/output.h"
#include "tools/output/trace.h"
#include "tools/stats/delivery_rows.h"

struct report {
    const struct options *options;
    const struct render_ops *render;
    struct rank rank;        /* its column is NULL for deliveries in file order */
    struct trace *trace;     /* NULL: not asked for */
    struct page *page;       /* the same */
    struct otlp *otlp;       /* NULL: not asked for */
    struct metrics *metrics; /* NULL: none are asked for */
    bool rows;               /* print one row per delivery */
    struct delivery_rows_extra extra;
    bool totals; /* end with: */
    struct groups groups;
    struct overview_counts counts;
    struct buf out;
    uint64_t deliveries;
    uint64_t run; /* of the kernel, as in model_delivery */
};

/* Metrics of a long slogfile are updated while it is read. */
static int add_metrics(struct report *report, const struct model_delivery *delivery,
                       struct error *error)
{
    enum { LOOK_AT_CLOCK_EACH = 256 };

    if (metrics_add(report->metrics, delivery, error) != 0)
        return -1;
    return report->deliveries % LOOK_AT_CLOCK_EACH == 0
               ? metrics_flush(report->metrics, false, error)
               : 0;
}

static int report_on_delivery(void *context, const struct model_delivery *delivery,
                              struct error *error)
{
    struct report *report = context;
    struct rank_entry *entry = NULL;
    struct buf *text;
    bool wanted = selection_takes(&report->options->selection, delivery);
    int kept = 1;

    if (report->page != NULL && page_add(report->page, delivery, wanted, error) != 0)
        return -1;
    if (report->otlp != NULL && otlp_add(report->otlp, delivery, wanted, error) != 0)
        return -1;
    if (!wanted)
        return 0;
    report->deliveries++;
    if (report->metrics != NULL && add_metrics(report, delivery, error) != 0)
        return -1;
    if (report->trace != NULL && trace_add(report->trace, delivery, error) != 0)
        return -1;
    if (report->render->delivery == NULL)
        return 0;
    if (report->totals && groups_add(&report->groups, delivery, error) != 0)
        return -1;
    overview_count(&report->counts, delivery);
    if (report->rank.column != NULL)
        kept = rank_add(&report->rank, delivery, &entry, error);
    if (kept <= 0)
        return kept;
    text = entry != NULL ? &entry->text : &report->out;
    if (report->rows)
        delivery_rows_render(entry, delivery, &report->extra);
    if (!report->rows || report->options->detail)
        report->render->delivery(text, delivery);
    if (buf_failed(text))
        return error_memory(error, "the report");
    return output_flush_if_much(&report->out, error);
}

static void report_on_note(void *context, const struct model_note *note)
{
    struct report *report = context;

    report->run += note->kind == MODEL_NOTE_KERNEL;
    if (report->trace != NULL && note->kind == MODEL_NOTE_KERNEL)
        trace_new_kernel(report->trace);
    if (report->page != NULL)
        page_note(report->page, note);
    if (report->otlp != NULL)
        otlp_note(report->otlp, note);
    if (report->metrics != NULL)
        metrics_note(report->metrics, note);
    if (report->render->note != NULL && (!report->rows || report->options->detail))
        report->render->note(&report->out, note);
}

/* False for sorted deliveries, between which phases have no place. */
static bool shows_phases(const struct report *report)
{
    return report->rank.column == NULL;
}

static void report_on_inbound(void *context, const struct model_inbound *inbound)
{
    struct report *report = context;

    if (report->render->inbound != NULL && shows_phases(report) &&
        selection_takes_inbound(&report->options->selection, inbound))
        report->render->inbound(&report->out, inbound);
}

static void report_on_phase(void *context, const struct phase_span *span)
{
    struct report *report = context;

    if (!selection_takes_phase(&report->options->selection, span, report->run))
        return;
    if (report->totals)
        groups_add_phase(&report->groups, span);
    if (report->trace != NULL)
        trace_add_phase(report->trace, span);
    if (report->page != NULL)
        page_add_phase(report->page, span);
    if (report->otlp != NULL)
        otlp_add_phase(report->otlp, span);
    if (report->metrics != NULL)
        metrics_add_phase(report->metrics, span);
    if (report->render->phase != NULL && shows_phases(report))
        report->render->phase(&report->out, span);
}

static void report_on_block(void *context, const struct phase_block *block)
{
    struct report *report = context;

    if (!selection_takes_block(&report->options->selection, block, report->run))
        return;
    if (report->metrics != NULL)
        metrics_add_block(report->metrics, block);
    if (report->render->block != NULL && shows_phases(report))
        report->render->block(&report->out, block);
}

static void report_on_frame(void *context, const struct model_frame *frame)
{
    struct report *report = context;

    if (report->otlp != NULL)
        otlp_frame(report->otlp, frame);
}

static int report_on_idle(void *context, struct error *error)
{
    struct report *report = context;

    if (report->otlp != NULL && otlp_flush(report->otlp, error) != 0)
        return -1;
    if (report->metrics != NULL && metrics_flush(report->metrics, true, error) != 0)
        return -1;
    return output_flush(&report->out, error);
}

/* Writes what was rendered of each delivery, but not its row. */
static int write_listing(struct report *report, struct error *error)
{
    for (size_t i = 0; i < report->rank.count; i++) {
        size_t length;
        const char *rest = delivery_rows_rest(&report->rank.entries[i], &length);

        if (report->rows)
            buf_append_byte(&report->out, '\n');
        buf_append(&report->out, rest, length);
        if (output_flush_if_much(&report->out, error) != 0)
            return -1;
    }
    return 0;
}

static int write_ranked(struct report *report, struct error *error)
{
    rank_sort(&report->rank);
    if (report->rows && report->rank.count > 0 &&
        delivery_rows_append(&report->out, &report->rank, &report->extra, error) != 0)
        return -1;
    return report->rows && !report->options->detail ? 0 : write_listing(report, error);
}

/* True if each delivery appears on a terminal as it is found. */
static bool shows_each(const struct report *report)
{
    return isatty(STDOUT_FILENO) && report->render->delivery != NULL && report->rank.column == NULL;
}

/* Reads the files and writes the report. */
static int read_and_write(struct report *report, const struct feed *feed, struct tally *tally,
                          struct error *error)
{
    struct error ignored;

    if (report->render->begin != NULL)
        report->render->begin(&report->out);
    if (feed_run(feed, tally, error) == 0 && write_ranked(report, error) == 0)
        return 0;
    /* Print what was found before the failure. */
    output_flush(&report->out, &ignored);
    return -1;
}

static int write_page_end(struct report *report, const struct tally *tally, struct error *error)
{
    const struct option_list *const profiles = &report->options->profiles;

    if (report->page == NULL)
        return 0;
    for (size_t i = 0; i < profiles->count; i++)
        if (page_add_profile(report->page, profiles->items[i], error) != 0)
            return -1;
    return page_finish(report->page, tally, error);
}

static int write_end(struct report *report, const struct tally *tally, struct error *error)
{
    selection_explain(&report->options->selection, report->deliveries, tally->totals.deliveries);
    if (write_page_end(report, tally, error) != 0)
        return -1;
    if (report->metrics != NULL && metrics_flush(report->metrics, true, error) != 0)
        return -1;
    if (report->render->end != NULL)
        report->render->end(&report->out, tally, report->deliveries);
    /* The totals of one delivery are in its own last line. */
    if (report->totals && report->deliveries > 1) {
        buf_append_byte(&report->out, '\n');
        overview_append_totals(&report->out, &report->groups, &report->counts);
    }
    if (report->groups.failed)
        return error_memory(error, "the totals");
    return output_flush(&report->out, error);
}

static int write_report(struct report *report, struct error *error)
{
    const struct options *options = report->options;
    struct feed feed = options_feed(options);
    struct tally tally;
    int result;

    feed.words = report->page != NULL;
    feed.follow = options->follow;
    feed.progress = !options->follow && !shows_each(report);
    feed.labels = (report->render->labels && (!report->rows || options->detail)) ||
                  options->causes || report->trace != NULL || report->page != NULL ||
                  report->otlp != NULL;
    feed.idle = report_on_idle;
    feed.sink = (struct model_sink){.delivery = report_on_delivery,
                                    .note = report_on_note,
                                    .frame = report_on_frame,
                                    .inbound = report_on_inbound,
                                    .phase = report_on_phase,
                                    .block = report_on_block,
                                    .context = report};
    result = read_and_write(report, &feed, &tally, error);
    if (result == 0)
        result = write_end(report, &tally, error);
    tally_free(&tally);
    return result;
}

static const struct render_ops *find_render(const struct options *options)
{
    static const struct render_ops nothing = {0};

    if (options->json)
        return options->causes ? &render_json_causes : &render_json;
    if (options->csv)
        return options->priced ? &render_csv_priced : &render_csv;
    if (options->trace != NULL || options->html != NULL || options->otlp != NULL ||
        options->metrics != NULL || options->listen != NULL)
        return &nothing;
    return &render_text;
}

static int open_trace_and_spans(struct report *report, struct error *error)
{
    const struct options *options = report->options;

    if (options->trace != NULL) {
        report->trace = trace_open(options->trace, error);
        if (report->trace == NULL)
            return -1;
        for (size_t i = 0; i < options->profiles.count; i++)
            if (trace_add_profile(report->trace, options->profiles.items[i], error) != 0)
                return -1;
    }
    if (options->metrics != NULL || options->listen != NULL) {
        report->metrics = metrics_open(options->metrics, options->listen, error);
        if (report->metrics == NULL)
            return -1;
    }
    if (options->otlp != NULL) {
        report->otlp = otlp_open(options->otlp, options->follow, error);
        if (report->otlp == NULL)
            return -1;
    }
    return 0;
}

/* The first failure is the command's; later ones are logged. */
static int join_failures(int result, int second_result, const struct error *second,
                         struct error *error)
{
    if (second_result == 0)
        return result;
    if (result == 0)
        *error = *second;
    else
        log_line("%s", second->text);
    return -1;
}

/* Trace and spans are finished also after a failure, so that they can be read. */
static int write_report_and_trace(struct report *report, struct error *error)
{
    struct error second;
    int result = open_trace_and_spans(report, error);

    if (result == 0)
        result = write_report(report, error);
    metrics_close(report->metrics);
    result = join_failures(result, trace_close(report->trace, &second), &second, error);
    return join_failures(result, otlp_close(report->otlp, &second), &second, error);
}

static int write_report_files(struct report *report, struct error *error)
{
    int result;

    if (report->options->html != NULL) {
        report->page = page_open(report->options->html, report->options->files, PAGE_LIMITS, error);
        if (report->page == NULL)
            return -1;
    }
    result = write_report_and_trace(report, error);
    page_free(report->page);
    return result;
}

int report_run(const struct options *options, struct error *error)
{
    struct report report = {
        .options = options,
        .run = 1,
        .render = find_render(options),
        .rank = {.top = options->top, .reverse = options->reverse, .column = options->sort}};
    int result;

    if (report.render == &render_text) {
        report.rows = report.rank.column != NULL;
        report.totals = !report.rows;
        report.groups.sums_only = true;
        report.groups.wanted[GROUP_ALL] = report.groups.wanted[GROUP_PHASE] = true;
        if (report.rows && !delivery_rows_show(report.rank.column->name))
            report.extra =
                (struct delivery_rows_extra){report.rank.column->name, report.rank.column->value};
        if (report.extra.value == NULL)
            report.extra.name = NULL;
    }
    result = write_report_files(&report, error);
    groups_free(&report.groups);
    rank_free(&report.rank);
    buf_free(&report.out);
    return result;
}
