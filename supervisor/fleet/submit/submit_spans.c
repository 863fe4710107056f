/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "supervisor/common_options.h"
#include "supervisor/fleet/span/fleet_cut.h"
#include "supervisor/fleet/span/shared_span.h"
#include "supervisor/fleet/span/span_objects.h"
#include "supervisor/fleet/submit/submission.h"
#include "supervisor/transcript/delivery_compare.h"

/* ---- what decides how a span is replayed ---- */

static void add_aspects(struct submission *submission, const struct replay_options *options)
{
    static const struct {
        enum compare_aspect aspect;
        const char *name;
    } aspects[] = {{COMPARE_COMPUTRONS, "computrons"},
                   {COMPARE_INSTRUCTIONS, "instructions"},
                   {COMPARE_SNAPSHOT, "snapshots"},
                   {COMPARE_ALLOCATION, "allocation"}};

    for (size_t i = 0; i < sizeof aspects / sizeof *aspects; i++)
        if (options->tolerated & 1U << aspects[i].aspect)
            submission_add_argument(submission, "--tolerate=%s", aspects[i].name);
    if (options->tolerates_gc)
        submission_add_argument(submission, "--tolerate=gc");
    if (options->compares_allocation && !(options->tolerated & 1U << COMPARE_ALLOCATION))
        submission_add_argument(submission, "--strict=allocation");
}

/* In one way for each meaning, so that the same work has the same ID. */
static void add_arguments(struct submission *submission, const struct replay_options *options)
{
    add_aspects(submission, options);
    if (options->counters.qemu || options->counters.compiled)
        submission_add_argument(submission, "--counter=%s",
                                common_options_counter_name(options->counters));
    if (options->compute_given)
        submission_add_argument(submission, "--compute-limit=%" PRIu64, options->compute_limit);
    submission_add_argument(submission, "--delivery-timeout=%" PRIu64,
                            (options->timeout_ms + 999) / 1000);
    if (options->instruction_limit > 0)
        submission_add_argument(submission, "--max-instructions=%" PRIu64,
                                options->instruction_limit);
    if (options->cost_limit > 0)
        submission_add_argument(submission, "--max-cost=%" PRIu64, options->cost_limit);
    if (options->deliveries)
        submission_add_argument(submission, "--deliveries");
}

/* ---- jobs ---- */

/* A run whose source stays where it is, or not. */
struct spans_target {
    struct submission *submission;
    json_t *source; /* as of shared_span_name(); NULL: it does not */
};

static int add_span(void *context, const struct fleet_cut_span *span, struct error *error)
{
    const struct spans_target *target = context;
    const struct fleet_run_job entry = {
        .name = (char *)(uintptr_t)span->vat_id,
        .first = span->first,
        .end = span->end,
        .amount = span->deliveries,
    };
    json_t *members =
        json_pack("{s:s,s:s,s:I,s:I,s:I,s:s,s:s,s:O}", "vatID", span->vat_id, "vat", span->vat,
                  "first", (json_int_t)span->first, "end", (json_int_t)span->end, "deliveries",
                  (json_int_t)span->deliveries, "transcript", span->transcript, "snapshot",
                  span->snapshot, "bundles", (json_t *)(uintptr_t)span->bundles);

    if (target->source != NULL && json_object_set(members, "source", target->source) != 0) {
        json_decref(members);
        return error_memory(error, "a job");
    }
    return submission_put(target->submission, members, &entry, error);
}

static int cut_spans(struct submission *submission, struct error *error)
{
    const struct fleet_options *options = submission->options;
    struct span_objects nowhere;
    struct spans_target spans = {.submission = submission};
    struct fleet_cut_target target = {
        .transport = submission->transport, .add = add_span, .context = &spans};
    int result;

    if (options->shared != NULL) {
        target.transport = span_objects_init(&nowhere, NULL);
        spans.source = shared_span_name(&options->replay, options->shared, error);
        if (spans.source == NULL)
            return -1;
    }
    result = fleet_cut(&options->replay, &target, error);
    json_decref(spans.source);
    return result;
}

int submit_spans(struct submission *submission, struct error *error)
{
    add_arguments(submission, &submission->options->replay);
    if (cut_spans(submission, error) != 0)
        return -1;
    return submission->run.count > 0 ? 0
                                     : error_set(error, ERROR_INPUT, "there is no delivery in it");
}
